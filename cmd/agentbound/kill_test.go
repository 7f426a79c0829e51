package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/internal/store/sqlite"
)

// program is this test binary under the name by which it runs as agentbound, see
// TestMain.
func program(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("agentbound")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKilledRun kills a run at several moments, runs the same command again, and
// shows the same table as a run that nobody killed, and no trial twice.
func TestKilledRun(t *testing.T) {
	unhurried(t)
	args := []string{"run", "--agent", "reference:wary", "--agent", "reference:surface", "--repeats", "60", "--suite", "examples"}
	undisturbed := filepath.Join(t.TempDir(), "undisturbed.db")
	want := table(t, undisturbed, args)
	for _, after := range []int{1, 150, 500} { // trials stored
		db := filepath.Join(t.TempDir(), "killed.db")
		killAfter(t, db, args, after)
		if got := table(t, db, args); got != want {
			t.Errorf("killed after %d trials, the table is another:\n%s\nwithout a kill it is:\n%s", after, got, want)
		}
	}
}

// table finishes the runs and gives their report.
func table(t *testing.T, db string, args []string) string {
	t.Helper()
	for _, cmd := range [][]string{args, {"report", "--format", "csv"}} {
		c := exec.Command(program(t), append(cmd, "--store", db)...)
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, stderr.String())
		}
		if cmd[0] == "report" {
			return string(out)
		}
	}
	return ""
}

// killAfter starts the runs and kills the process once so many trials are stored.
func killAfter(t *testing.T, path string, args []string, after int, more ...string) {
	t.Helper()
	c := exec.Command(program(t), append(append(args, "--store", path), more...)...)
	var told bytes.Buffer
	c.Stderr = &told
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- c.Wait() }()
	for made(path) < after {
		select {
		case err := <-over:
			t.Fatalf("the run was over before %d trials were stored: %v\n%s", after, err, told.String())
		default:
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err == nil {
		t.Fatal("the run was over before it could be killed")
	}
}

// made counts the stored trials; 0 while there is no store yet.
func made(path string) int {
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, sqlite.Options{Existing: true})
	if err != nil {
		return 0 // it is being made
	}
	defer func() { _ = db.Close() }()
	runs, err := db.Runs(ctx)
	if err != nil {
		return 0
	}
	n := 0
	for _, r := range runs {
		if p, err := db.Progress(ctx, r.ID, r.Plan.Judges[0]); err == nil {
			n += p.Stored
		}
	}
	return n
}
