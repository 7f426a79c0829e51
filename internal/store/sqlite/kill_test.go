package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/storetest"
)

// childVariable makes the test binary a process that works in the store it names.
const childVariable = "AGENTBOUND_TEST_STORE"

const (
	killTrials = 1 << 20 // more than the child gets to
	killBatch  = 8
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := child(path); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child takes the run's lock and stores trials until it is killed. It says after
// each batch how many trials the store has accepted.
func child(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	plan := storetest.Plan("a")
	if _, err := s.Lock(ctx, plan.ID()); err != nil {
		return err
	}
	for n := 0; n < killTrials; n += killBatch {
		var batch []agentbound.Result
		for i := n; i < n+killBatch; i++ {
			batch = append(batch, storetest.Result(i, 4, "program/1"))
		}
		if err := s.Put(ctx, batch); err != nil {
			return err
		}
		fmt.Println(n + killBatch)
	}
	return nil
}

func startChild(t *testing.T, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

// TestKill kills a process in the middle of its writing: what it had been told is
// stored is there, the file is sound, and its lock is gone.
func TestKill(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a.db")
	run := storetest.Plan("a")
	for round := range 3 {
		cmd, lines := startChild(t, path)
		accepted := 0
		for accepted < 400*(round+1) && lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &accepted); err != nil {
				t.Fatal(lines.Text())
			}
		}

		beside, err := Open(ctx, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = beside.Lock(ctx, run.ID())
		if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) || !strings.Contains(err.Error(), "--new") {
			t.Errorf("the lock of a living process: %v", err)
		}
		// Another process may write meanwhile.
		if err := beside.Put(ctx, []agentbound.Result{storetest.Result(killTrials+round, 1, "program/1")}); err != nil {
			t.Error(err)
		}
		if round == 2 { // the WAL is left to whoever opens the file next
			if err := beside.Close(); err != nil {
				t.Error(err)
			}
		}

		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it had said before it died
			_, _ = fmt.Sscan(lines.Text(), &accepted)
		}
		_ = cmd.Wait()

		s := open(t, path)
		unlock, err := s.Lock(ctx, run.ID())
		if err != nil {
			t.Fatalf("the lock outlived its owner: %v", err)
		}
		for n := range accepted {
			if _, err := s.Result(ctx, string(storetest.Trial(n).Key)); err != nil {
				t.Fatalf("accepted, then lost: %v", err)
			}
		}
		var sound string
		var whole int
		query(t, path, "PRAGMA integrity_check", &sound)
		query(t, path, "SELECT count(*) FROM trial t WHERE scored AND NOT EXISTS (SELECT 1 FROM verdict WHERE trial = t.id) OR NOT EXISTS (SELECT 1 FROM trajectory WHERE trial = t.id)", &whole)
		if sound != "ok" || whole != 0 {
			t.Errorf("integrity: %s, %d trials in part", sound, whole)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
		if round != 2 {
			if err := beside.Close(); err != nil {
				t.Error(err)
			}
		}
		if left, _ := filepath.Glob(path + "*.lock"); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
