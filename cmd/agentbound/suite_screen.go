package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/suite/screen"
	"github.com/agentbound/agentbound/suites"
)

func newSuiteScreen(io stdio) *cobra.Command {
	var format, allow, bar, severity string
	cmd := &cobra.Command{
		Use: "screen [SUITE]", Short: "Look for secrets, personal data, real names and addresses, and texts that harm", Args: cobra.MaximumNArgs(1),
		Long: `Look through everything that a subject or a reader of a suite could see, before the
suite is released: for secrets, personal data, addresses and links that exist, real
organisations and people, slurs, exploit text and recipes. A finding that blocks ends
with exit code 1; one to review needs a person. Findings that may stay are named, with
the reason, in screen.yaml in the suite's folder or in --allow FILE:

  allow:
    - {kind: organisation, found: Visa, why: the travel document}

--format html is the page for reviewers: all findings, and every text to be read.

--bar KIND reads words from standard input instead, one a line, and prints what bars them.`,
		Example: "  agentbound suite screen\n  agentbound suite screen ./my-suite --format json\n  agentbound suite screen ./my-suite --format html > review.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "json", "markdown", "html"); err != nil {
				return err
			}
			if bar != "" {
				return barWords(io, bar, severity)
			}
			r, err := screenSuite(cmd, args, allow)
			if err != nil {
				return err
			}
			if err := printScreening(io, r, format); err != nil {
				return err
			}
			if r.Blocked > 0 {
				return missed()
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, json, markdown or html")
	cmd.Flags().StringVar(&allow, "allow", "", "allow list; empty: screen.yaml in the suite's folder, where there is one")
	cmd.Flags().StringVar(&bar, "bar", "", "print what bars words of this kind: slur, sexual or profanity")
	cmd.Flags().StringVar(&severity, "severity", "block", "with --bar: block or review")
	return cmd
}

func printScreening(io stdio, r *screen.Report, format string) error {
	switch format {
	case "json":
		return printJSON(io.out, r)
	case "html":
		return r.WriteHTML(io.out)
	case "markdown":
		r.WriteMarkdown(io.out)
	default:
		r.WriteTable(io.out)
	}
	return nil
}

func screenSuite(cmd *cobra.Command, args []string, allow string) (*screen.Report, error) {
	s, err := suiteArg(args)
	if err != nil {
		return nil, err
	}
	o, err := screenOptions(args, allow)
	if err != nil {
		return nil, err
	}
	return screen.Suite(cmd.Context(), s, o)
}

// screenOptions finds the suite's files and its allow list.
func screenOptions(args []string, allow string) (o screen.Options, err error) {
	name := suites.Default
	if len(args) > 0 {
		name = args[0]
	}
	if slices.Contains(suites.Names(), name) {
		o.Files, err = suites.FS(name)
	} else {
		o.Files, err = folderFS(name)
	}
	if err != nil {
		return o, err
	}
	var text []byte
	if allow != "" {
		text, err = os.ReadFile(allow)
	} else {
		allow = screen.AllowFile
		text, err = fs.ReadFile(o.Files, allow)
		if errors.Is(err, fs.ErrNotExist) {
			return o, nil
		}
	}
	if err != nil {
		return o, usage("allow list %s cannot be read: %w", allow, err)
	}
	if o.Allow, err = screen.ReadAllowances(allow, text); err != nil {
		return o, coded{exitUsage, err}
	}
	return o, nil
}

// folderFS gives the folder of a suite without leaving it through a link.
func folderFS(name string) (fs.FS, error) {
	abs, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	return os.DirFS(abs), nil
}

func barWords(io stdio, kind, severity string) error {
	accepted := []string{string(screen.Slur), string(screen.Sexual), string(screen.Profanity)}
	if !slices.Contains(accepted, kind) {
		return usage("--bar %q is not known; accepted: slur, sexual, profanity", kind)
	}
	if severity != string(screen.Block) && severity != string(screen.Review) {
		return usage("--severity %q is not known; accepted: block, review", severity)
	}
	if err := screen.WriteWordLines(io.out, io.in, screen.Kind(kind), screen.Severity(severity)); err != nil {
		return coded{exitUsage, fmt.Errorf("words on standard input: %w", err)}
	}
	return nil
}
