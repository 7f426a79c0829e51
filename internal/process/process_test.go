package process

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for command, want := range map[string][]string{
		"":                          nil,
		" \t\r\n ":                  nil,
		"python3 agent.py":          {"python3", "agent.py"},
		"  a   b\tc\n":              {"a", "b", "c"},
		`a 'b c' "d e" f\ g`:        {"a", "b c", "d e", "f g"},
		`a '' ""`:                   {"a", "", ""},
		`--x='y z'"w"\"`:            {`--x=y zw"`},
		`'a\b' "a\b" a\b`:           {`a\b`, `a\b`, "ab"},
		`"say \"hi\" \\" 'it"s'`:    {`say "hi" \`, `it"s`},
		`$HOME * | a; b && c > d #`: {"$HOME", "*", "|", "a;", "b", "&&", "c", ">", "d", "#"},
		"ümlaut '木 木'":              {"ümlaut", "木 木"},
	} {
		got, err := Split(command)
		if err != nil {
			t.Errorf("%q: %v", command, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", command, d)
		}
	}
}

// FuzzSplit: words that are put into single quotes come back as they were.
func FuzzSplit(f *testing.F) {
	f.Add(`python3 "agent one.py" --say 'it'\''s'`)
	f.Add(`\`)
	f.Fuzz(func(t *testing.T, command string) {
		words, err := Split(command)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		back, err := Split(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(words, back) {
			t.Fatalf("%q gives %q, and that %q, %v", command, words, back, err)
		}
	})
}

// TestTail: the end is kept, from the beginning of a line on, without secrets, not even
// a part of one.
func TestTail(t *testing.T) {
	p := Program{secrets: []secret{{"KEY", "sk-0123456789"}, {"DEBUG", "1"}}}
	var short Tail
	write(t, &short, "one sk-0123456789\n", "two 1\n")
	if got := short.Text(p); got != "one [KEY]\ntwo 1" {
		t.Errorf("%q", got)
	}
	for n := range 40 { // wherever the cut falls
		var long Tail
		write(t, &long, strings.Repeat("x", 1000), "sk-0123456789", strings.Repeat("y", tailSize-n), "\nlast")
		if got := long.Text(p); got != "last" {
			t.Fatalf("cut at %d: %q", n, got)
		}
	}
	var one Tail
	write(t, &one, strings.Repeat("z\n", tailSize))
	if got := one.Text(Program{}); !strings.HasPrefix(got, "…") || len(got) > tailShown+len("…") || len(one.kept) > tailSize {
		t.Errorf("%d bytes kept, %d shown", len(one.kept), len(got))
	}
}

func write(t *testing.T, to *Tail, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if n, err := to.Write([]byte(p)); err != nil || n != len(p) {
			t.Fatal(n, err)
		}
	}
}
