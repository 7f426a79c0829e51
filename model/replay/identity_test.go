package replay_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/replay"
)

// TestWithoutTheKey: a key that is a word of the model's name and of what is asked was
// struck when it was recorded. A replay, which has no key, finds the exchange all the
// same, and only where nothing else differs.
func TestWithoutTheKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	var asked atomic.Int64
	named := modeltest.Fake{Name: "ollama/m", Play: counter(&asked).(modeltest.Fake).Play}
	texts := []string{"one of ollama", "ollama and \"ollama\" say two", "three"}
	trial := func() context.Context { return model.WithPlay(t.Context(), &model.Play{Trial: key(1)}) }

	rec := record(t, path, replay.Options{Secrets: []string{"ollama"}})
	live := rec.Wrap(named, model.PartSubject)
	want := [][]string{converse(trial(), live, texts...), converse(t.Context(), live, texts...)}
	stored(t, rec, 1)
	done(t, rec)
	if strings.Contains(string(read(t, path)), "ollama") {
		t.Error("the recording holds the key")
	}

	again := open(t, path).Wrap(named.Ref(), model.PartSubject)
	got := [][]string{converse(trial(), again, texts...), converse(t.Context(), again, texts...)}
	if d := cmp.Diff(want, got); d != "" || len(got[0]) != 3 {
		t.Error(d)
	}
	for _, other := range []string{"one of", "two of ollama", "one of you all", "one of ollama, and more", `one of "ollama"`, `one of \ollama`} {
		for _, ctx := range []context.Context{trial(), t.Context()} {
			got := converse(ctx, open(t, path).Wrap(named.Ref(), model.PartSubject), other)
			if !strings.HasPrefix(got[0], "error: ") {
				t.Errorf("%q was answered with %q", other, got)
			}
		}
	}
}
