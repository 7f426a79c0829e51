package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
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
