package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
)

// version is set by the linker for releases.
var version = "0.1.0-dev"

func newVersion(io stdio) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and the versions of the formats", Args: cobra.NoArgs, Example: "  agentbound version",
		RunE: func(*cobra.Command, []string) error {
			revision := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						revision = " (" + s.Value[:min(12, len(s.Value))] + ")"
					}
				}
			}
			_, err := fmt.Fprintf(io.out, "agentbound %s%s, %s %s/%s\nfamily format 1, trajectory %d, plan %d, report 1\n",
				version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH, agentbound.TrajectoryVersion, agentbound.PlanVersion)
			return err
		},
	}
}
