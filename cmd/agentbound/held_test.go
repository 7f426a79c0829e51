package main

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound/harness/openclaw"
	"github.com/agentbound/agentbound/internal/confine"
)

// TestFitting: no more trials at a time than were asked for, and than memory takes.
func TestFitting(t *testing.T) {
	const gib = int64(1 << 30)
	p := openclaw.Program()
	p.Memory = gib
	for _, c := range []struct {
		asked int
		free  int64
		want  int
		line  string
	}{
		{4, 64 * gib, 4, ""},
		{4, 8 * gib, 4, ""}, // an eighth is kept back
		{8, 8 * gib, 7, "7 trials at a time, not 8: each may need 1024 MiB of memory, and 8192 MiB are free"},
		{16, gib + gib/2, 1, "1 trial at a time, not 16"},
		{16, gib, 1, "which may not be enough for one"},
		{1, gib, 1, "which may not be enough for one"},
		{3, 0, 3, ""}, // not known
	} {
		n, line := fitting(p, c.asked, c.free)
		if n != c.want || !strings.Contains(line, c.line) || (line == "") != (c.line == "") {
			t.Errorf("%d of %d MiB: %d, %q", c.asked, c.free>>20, n, line)
		}
	}
	p.Memory = 0
	if n, line := fitting(p, 9, gib); n != 9 || line != "" {
		t.Errorf("a need that is not known: %d, %q", n, line)
	}
}

// TestTellHeld: a run says how its program is held, and what more cannot be had.
func TestTellHeld(t *testing.T) {
	var out strings.Builder
	if err := tellHeld(&out, openclaw.Program()); err != nil {
		t.Fatal(err)
	}
	level, err := confine.Best()
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "openclaw@"+openclaw.Program().Version()+": held at level "+string(level)+" (") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
	if len(about) != len(confine.Levels()) {
		t.Errorf("%d of %d levels are told", len(about), len(confine.Levels()))
	}
}
