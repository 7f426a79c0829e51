package datafile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/internal/datafile"
)

type sample struct {
	Version int `yaml:"version"`
	Rows    []struct {
		Name  string   `yaml:"name"`
		Price *float64 `yaml:"price"`
		When  string   `yaml:"when"`
	} `yaml:"rows"`
}

func TestDecode(t *testing.T) {
	var s sample
	f, err := datafile.Decode("f.yaml", []byte("# words\nversion: 1\nrows:\n  - name: a\n    price: 1e-1\n    when: 2026-11-30\n  - name: b\n    price: null\n"), &s)
	if err != nil || len(s.Rows) != 2 || *s.Rows[0].Price != 0.1 || s.Rows[0].When != "2026-11-30" || s.Rows[1].Price != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	for path, want := range map[string]string{
		"$.rows[1].name": "f.yaml:7: no good", "$.rows[1].when": "f.yaml:7: no good", "$.rows[9]": "f.yaml:4: no good", "$": "f.yaml: no good",
	} {
		if got := f.Errorf(path, "no %s", "good").Error(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for src, want := range map[string]string{
		"version: 1\nrowz: []\n":           `f.yaml:2: unknown field "rowz"`,
		"version: one\n":                   "f.yaml:1: ",
		"version: 1\nrows: [&a b]\n":       "f.yaml:2: anchors",
		"version: !!int 1\n":               "f.yaml:1: anchors",
		"version: 1\n---\nversion: 2\n":    "f.yaml: holds 2 documents",
		"":                                 "f.yaml: holds 0 documents",
		"version: 1\nrows:\n - a: [\n":     "f.yaml:",
		"version: 1\nversion: 2\n":         "f.yaml:2: ",
		"\xff":                             "is not UTF-8",
		strings.Repeat("#", 1<<20) + "#":   "more than 1048576 bytes",
		"version: 1\nrows:\n - name: {}\n": "f.yaml:3: ",
	} {
		if _, err := datafile.Decode("f.yaml", []byte(src), new(sample)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %s", src, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, []byte("version: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var s sample
	if _, err := datafile.Read(path, &s); err != nil || s.Version != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := datafile.Read(path+".not", &s); err == nil {
		t.Error("a file that is not there was read")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("version: 1\nrows:\n  - name: a\n    price: 2\n")
	f.Add("a: [1, {b: ")
	f.Fuzz(func(t *testing.T, src string) {
		file, err := datafile.Decode("f.yaml", []byte(src), new(sample))
		if (file == nil) != (err != nil) {
			t.Errorf("%v, %v", file, err)
		}
		if file != nil {
			_ = file.Errorf("$.rows[0].name", "x")
		}
	})
}
