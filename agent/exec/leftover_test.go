package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/exec"
	"github.com/agentbound/agentbound/internal/familytest"
)

// TestNothingIsLeft: however a trial ends, the program's children, its folder, its
// pipes and our goroutines are gone when Play returns.
func TestNothingIsLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	play(t, subject(t, quick, "fixed"), agentbound.EB) // what is made once is made
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	for name, test := range map[string]struct {
		args    []string
		seconds int
		end     agentbound.EndReason
	}{
		"it leaves a child":    {[]string{"leaves"}, 20, agentbound.EndOutcome},
		"it stays":             {[]string{"stays"}, 20, agentbound.EndOutcome},
		"it is out of order":   {[]string{"noise"}, 20, agentbound.EndFault},
		"it ends too early":    {[]string{""}, 20, agentbound.EndFault},
		"it is out of time":    {[]string{"hangs"}, 1, agentbound.EndFault},
		"a child gets away":    {[]string{"leaves", "apart"}, 20, agentbound.EndOutcome},
		"and it stays as well": {[]string{"stays", "apart"}, 20, agentbound.EndOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			alive := filepath.Join(t.TempDir(), "alive")
			b := bench(subject(t, quick, "parent", append([]string{alive}, test.args...)...))
			b.Limits.Seconds = test.seconds
			began := time.Now()
			if tr := trial(t, b, familytest.Family(t), agentbound.EB).Trajectory; tr.End.Reason != test.end {
				t.Errorf("end %+v", tr.End)
			}
			// The child lives for twenty seconds unless it is ended, and nobody waits for it.
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if len(test.args) == 1 && grows(t, alive) {
				t.Error("the child lives on")
			}
			empty(t, temp)
		})
	}
	settle(t, "goroutines", goroutines, runtime.NumGoroutine)
	settle(t, "open files", files, func() int { return descriptors(t) })
}

// TestFoldersAreRemoved, also ones that the program has made hard to remove.
func TestFoldersAreRemoved(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if tr := play(t, subject(t, quick, "litters"), agentbound.EB); tr.End.Reason != agentbound.EndOutcome {
		t.Fatalf("end %+v", tr.End)
	}
	empty(t, temp)
}

// TestCancelled: a run that is broken off ends its programs at once, also while they
// are waited for.
func TestCancelled(t *testing.T) {
	for _, how := range []string{"hangs", "stays"} {
		t.Run(how, func(t *testing.T) {
			alive := filepath.Join(t.TempDir(), "alive")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					if info, err := os.Stat(alive); err == nil && info.Size() > 0 {
						cancel()
					}
					time.Sleep(time.Millisecond)
				}
			}()
			b := bench(subject(t, exec.Options{Grace: time.Minute}, "parent", alive, how))
			began := time.Now()
			if _, err := b.Trial(ctx, familytest.Family(t), agentbound.Trial{Split: agentbound.EB}, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			<-done
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if grows(t, alive) {
				t.Error("the child lives on")
			}
		})
	}
}

// empty checks that no trial's folder is left in the one for temporary files.
func empty(t *testing.T, temp string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(temp, "work-*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// grows reports whether somebody is still writing into a file.
func grows(t *testing.T, name string) bool {
	t.Helper()
	size := func() int64 {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	time.Sleep(150 * time.Millisecond)
	return size() != before
}

// descriptors counts our open files where the system tells.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(open)
}

// settle waits for a count to come down to what it was.
func settle(t *testing.T, what string, want int, count func() int) {
	t.Helper()
	got := 0
	for range 100 {
		if got = count(); got <= want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d %s, before it was %d", got, what, want)
}
