package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentbound/agentbound/internal/confine"
)

// TestMain lets the scripts, and the tests that kill a process, run this binary as
// agentbound.
func TestMain(m *testing.M) {
	confine.Init()
	if mode := os.Getenv(fakeMode); mode != "" {
		if err := runFake(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testscript.Main(m, map[string]func(){"agentbound": func() {
		debug.SetGCPercent(gcPercent)
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(execute(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
	}})
}

// TestScripts runs testdata/*.txtar: they are written to be read as the manual.
func TestScripts(t *testing.T) {
	peers := judgePeers(t)
	maps.Copy(peers, interventionPeers(t))
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			for name, spec := range peers {
				env.Setenv(name, spec)
			}
			plan, err := filepath.Abs("../../examples/table2.yaml")
			env.Setenv("TABLE2", plan)
			return err
		},
	})
}

// unhurried skips a test under -short, as it is run under the race detector: it takes long,
// and what runs side by side in it does so in shorter tests too.
func unhurried(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
}

// lone are scripts that take long and in which nothing runs beside anything else that other
// tests do not run too: -short, as under the race detector, does without them.
var lone = []string{
	"audit.txtar", "demo.txtar", "fork.txtar", "gate.txtar", "generate.txtar", "import.txtar", "reading.txtar", "report.txtar", "screen.txtar", "suite.txtar",
}

func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return slices.DeleteFunc(files, func(name string) bool {
		return testing.Short() && slices.Contains(lone, filepath.Base(name))
	})
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFullDisk: results that nobody could read are no success.
func TestFullDisk(t *testing.T) {
	var errs strings.Builder
	if code := execute(t.Context(), []string{"agents"}, stdio{nil, full{}, &errs}); code != exitFault || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("exit code %d, %s", code, errs.String())
	}
}
