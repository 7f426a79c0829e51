package suite_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/suite"
)

// FuzzFamily feeds the loader any family.yaml: it loads and survives the round trip
// to bytes, or the problems name places that exist. It never crashes or hangs.
func FuzzFamily(f *testing.F) {
	for name, file := range base(f) {
		if strings.HasSuffix(name, ".yaml") {
			f.Add(string(file.Data))
		}
	}
	for _, c := range broken {
		files := base(f)
		for _, e := range c.edits {
			swap(f, files, e.file, e.from, e.to)
		}
		if file := files[transfer]; len(file.Data) < 1<<16 {
			f.Add(string(file.Data))
		}
	}
	for _, s := range awkward() {
		if len(s) < 1<<12 {
			f.Add(s)
		}
	}
	star, err := fs.ReadFile(os.DirFS("testdata/base"), "transfer-under-agreement/records.star")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, family string) { loadAnything(t, family, star) })
}

func loadAnything(t *testing.T, family string, star []byte) {
	t.Helper()
	s, err := suite.Load(fstest.MapFS{
		"transfer-under-agreement/family.yaml":  {Data: []byte(family)},
		"transfer-under-agreement/records.star": {Data: star},
	}, "transfer-under-agreement")
	var problems suite.Problems
	switch {
	case errors.As(err, &problems):
		lines := strings.Count(family, "\n") + 1
		for _, p := range problems {
			if p.Message == "" || p.Line < 0 || p.Line > lines || p.Line > 0 && p.Column < 1 {
				t.Errorf("problem at %d:%d of %d lines: %s", p.Line, p.Column, lines, p.Message)
			}
			_ = p.Error()
		}
	case err != nil:
		t.Errorf("an error that is no problem of the file: %v", err)
	default:
		b, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := suite.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Error(diff)
		}
	}
}

// awkward inputs stress the YAML parser.
func awkward() []string {
	const n = 20_000
	return []string{
		"", "\n", "---", "...", "? a", "? ? a: b", "a: |", "a: >-\n", "a: 'x", "a: \"x", "a: \"\\", "a:\n\t- b", "{", "[", "- - - a", "a: b: c",
		"%YAML 1.2\n---\na: b", "--- a\n--- b", "a: &x 1\nb: *x", "<<: {a: b}", "a: !!binary x", "\ufeffa: b", "a: \u2028b", "a: \x00", "#", "a: # c", "a: >9\n x",
		strings.Repeat("[", n), strings.Repeat("- ", n), strings.Repeat("? ", n), strings.Repeat("{a: ", n), strings.Repeat("a: ", n),
		strings.Repeat("a:\n", n), strings.Repeat("[]", n), strings.Repeat("!a ", n), strings.Repeat("&a ", n), strings.Repeat("'", n), strings.Repeat("\"", n),
		strings.Repeat("a: b\n", n*3), "a: " + strings.Repeat("x", 1<<20), "a: '" + strings.Repeat("''", n) + "'", nested(200), strings.Repeat("a: {b: [1,2,{c: d}]}\n", n),
	}
}

// nested is a block mapping of some depth.
func nested(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestAwkwardInputs(t *testing.T) {
	for _, s := range awkward() {
		start := time.Now()
		loadAnything(t, s, nil)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%.20q took %v", s, took)
		}
	}
}
