package gateway

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func entryOf(n int) Entry {
	return Entry{
		V: auditVersion, Time: time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC), Mode: "live", Result: Changed, Protocol: "messages", Model: "m", Corrector: "fixed", Instruction: strings.Repeat("ab", 32), Decision: n,
		Before: Side{Thought: fmt.Sprintf("draft <b>%d</b>", n), Source: "text", Calls: []Called{{Tool: "pay"}}}, After: &Side{Thought: "better", Calls: []Called{}}, MS: 1.5, Tokens: Tokens{3, 4},
	}
}

// TestAudit: entries are read back as they were written, over files that were put aside
// too; nothing is lost where many write, and one process at a time has the log.
func TestAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a[1].jsonl")
	a, err := OpenAudit(path, 2000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAudit(path, 0); err == nil || !strings.Contains(err.Error(), "another gateway") {
		t.Errorf("opened twice: %v", err)
	}
	var group sync.WaitGroup
	for n := range 40 {
		group.Go(func() {
			if err := a.Append(entryOf(n)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := os.ReadDir(filepath.Dir(path))
	if len(files) < 5 {
		t.Errorf("%d files", len(files))
	}
	for _, f := range files {
		info, _ := f.Info()
		if info.Size() > 2000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes and mode %v", f.Name(), info.Size(), info.Mode())
		}
	}
	got, unread, err := ReadAudit(path)
	if err != nil || len(unread) > 0 {
		t.Fatal(err, unread)
	}
	slices.SortFunc(got, func(a, b Entry) int { return a.Decision - b.Decision })
	var want []Entry
	for n := range 40 {
		want = append(want, entryOf(n))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestAuditTorn: what a process that died left half written is told, and spoils nothing
// that comes after it; so is what another version wrote.
func TestAuditTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte("{\"v\":2,\"later\":true}\n\n{\"v\":1,\"time\":\"2026-"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := OpenAudit(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if err := a.Append(entryOf(n)); err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	got, unread, err := ReadAudit(path)
	if d := cmp.Diff([]Entry{entryOf(0), entryOf(1)}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if len(unread) != 2 || !strings.HasPrefix(unread[0], "audit.jsonl, line 1: version 2") || !strings.HasPrefix(unread[1], "audit.jsonl, line 3: ") {
		t.Errorf("%q", unread)
	}
	if _, _, err := ReadAudit(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("of no file: %v", err)
	}
}

// TestAuditFails: an entry that cannot be written is an error, and what comes later is
// written again when it can be.
func TestAuditFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := OpenAudit(filepath.Join(dir, "audit.jsonl"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Append(entryOf(0)); err != nil {
		t.Fatal(err)
	}
	away := dir + ".away"
	if err := os.Rename(dir, away); err != nil { // each entry begins a new file
		t.Fatal(err)
	}
	if a.Append(entryOf(1)) == nil {
		t.Error("an entry that has no place is written")
	}
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(entryOf(2)); err != nil {
		t.Error(err)
	}
	if got, _, err := ReadAudit(filepath.Join(dir, "audit.jsonl")); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPage: the page shows what the log has, newest first, as text and not as markup.
func TestPage(t *testing.T) {
	entries := []Entry{entryOf(0), entryOf(1)}
	entries[0].Failure, entries[0].Result, entries[0].After = "it is <down>", Undelivered, nil
	var b bytes.Buffer
	if err := WritePage(&b, entries, []string{"audit.jsonl, line 3: <x>"}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, has := range []string{"draft &lt;b&gt;0&lt;/b&gt;", "it is &lt;down&gt;", "line 3: &lt;x&gt;", "the client had none of it", ">changed</span>", "prefers-color-scheme:dark", "abababababab</code>"} {
		if !strings.Contains(page, has) {
			t.Errorf("the page has no %q", has)
		}
	}
	if strings.Index(page, "&lt;b&gt;1&") > strings.Index(page, "&lt;b&gt;0&") {
		t.Error("the oldest is first")
	}
	for _, not := range []string{"<b>", "http://", "https://", "ZgotmplZ", strings.Repeat("ab", 32)} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %q", not)
		}
	}
	b.Reset()
	if err := WritePage(&b, nil, nil); err != nil || !strings.Contains(b.String(), "Nothing was changed") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestPageOfShadow: what was only watched is not told as if it had been changed.
func TestPageOfShadow(t *testing.T) {
	live, shadow := entryOf(0), entryOf(1)
	shadow.Mode = Shadow
	for name, c := range map[string]struct {
		entries  []Entry
		has, not []string
	}{
		"shadow": {[]Entry{shadow, shadow}, []string{"<h1>What the gateway would have changed</h1>", "> would have changed 2</label>", ">would have changed</span>", "nothing was changed or held back", "what it would then have called is not known", "Would have been</h2>"}, []string{">After<", ">changed</span>", "no call"}},
		"live":   {[]Entry{live}, []string{"<h1>What the gateway changed</h1>", "> changed 1</label>", ">After<"}, []string{"would have", "Would have"}},
		"both":   {[]Entry{live, shadow}, []string{"<h1>What the gateway changed, or would have</h1>", "> changed, would have changed 2</label>", ">changed</span>", ">would have changed</span>"}, nil},
	} {
		var b bytes.Buffer
		if err := WritePage(&b, c.entries, nil); err != nil {
			t.Fatal(err)
		}
		for _, has := range c.has {
			if !strings.Contains(b.String(), has) {
				t.Errorf("%s: the page has no %q", name, has)
			}
		}
		for _, not := range c.not {
			if strings.Contains(b.String(), not) {
				t.Errorf("%s: the page has %q", name, not)
			}
		}
	}
}

// FuzzReadAudit: whatever a log holds, each line is read or told.
func FuzzReadAudit(f *testing.F) {
	f.Add([]byte("{\"v\":1}\nx\n\n{\"v\":7}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		all, unread, err := ReadAudit(path)
		lines := 0
		for line := range bytes.SplitSeq(raw, []byte("\n")) {
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
			}
		}
		if err != nil || len(all)+len(unread) != lines {
			t.Errorf("%d read, %d told of %d lines, %v", len(all), len(unread), lines, err)
		}
		if err := WritePage(&bytes.Buffer{}, all, unread); err != nil {
			t.Error(err)
		}
	})
}
