package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts, and the tests that kill a process, run this binary as
// agentbound.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agentbound": func() {
		debug.SetGCPercent(gcPercent)
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(execute(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
	}})
}

// TestScripts runs testdata/*.txtar: they are written to be read as the manual.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			return nil
		},
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
