package screen

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzTexts: whatever a text holds, screening ends, names known kinds, prints lines that
// a terminal shows, and never shows a key that it found.
func FuzzTexts(f *testing.F) {
	secret := strings.Join([]string{"AK", "IA", "Q3EGUZ7MTNLQ2RWB"}, "")
	f.Add("plain words", "note", false)
	f.Add("a@b.example 192.0.2.1 +1-555-0142", "phone", false)
	f.Add("x = \"a\" + 'b' # \"\"\" c\n'''", "", true)
	f.Add("\xff\xfe\u202e\u200b", "password", false)
	f.Add("DE89 3704 GB82 4539 1488", "iban", true)
	f.Add("[::]:1:: 0x 1.1.1.1.1 @.", "", false)
	f.Add(`'"\`, "", true)
	f.Fuzz(func(t *testing.T, text, name string, code bool) {
		if len(text) > 4096 {
			return
		}
		for _, planted := range []string{text, text + " " + secret + " " + text} {
			s := newScreener()
			in := Text{ID: "one", Where: "x", Name: name, Text: planted, Code: code}
			for _, found := range s.findings(in) {
				if infoOf[found.Kind].remedy == "" || found.Severity != Block && found.Severity != Review {
					t.Errorf("%+v", found)
				}
				if n := utf8.RuneCountInString(found.Found); n == 0 || n > longestFound+40 || strings.ContainsAny(found.Found, "\n\x1b") {
					t.Errorf("%d characters: %q", n, found.Found)
				}
				if strings.Contains(found.Found, secret) && !strings.Contains(text, secret) {
					t.Errorf("the key is shown: %+v", found)
				}
			}
		}
	})
}

// FuzzLiterals: every byte keeps its place, and what is left is from the source.
func FuzzLiterals(f *testing.F) {
	f.Add("def f(): return \"a\\\"b\" # c\n'''d\ne'''")
	f.Add("\"\n\"\"\"\\")
	f.Fuzz(func(t *testing.T, code string) {
		out := literals(code)
		if len(out) != len(code) || strings.Count(out, "\n") != strings.Count(code, "\n") {
			t.Fatalf("%q became %q", code, out)
		}
		for i := range len(out) {
			if out[i] != ' ' && out[i] != code[i] {
				t.Fatalf("%q became %q", code, out)
			}
		}
	})
}

// FuzzReadAllowances: no text breaks the reader, and every entry that it takes says why.
func FuzzReadAllowances(f *testing.F) {
	f.Add("allow:\n  - {kind: organisation, found: Visa, why: the travel document}\n")
	f.Add("allow: [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		list, err := ReadAllowances("screen.yaml", []byte(text))
		for _, a := range list {
			if err == nil && (strings.TrimSpace(a.Why) == "" || a.Found == "" || infoOf[a.Kind].remedy == "") {
				t.Errorf("taken: %+v", a)
			}
		}
	})
}

func TestLiterals(t *testing.T) {
	code := "x = f(\"a.com\", 'it''s') # see b.com\ny.com = \"\"\"c\nd\"\"\"\nz = \"open"
	want := "       a.com    it  s     see b.com\n           c\nd   \n     open"
	if got := literals(code); got != want {
		t.Errorf("%q\n%q", got, want)
	}
}

func TestRedacted(t *testing.T) {
	long := strings.Repeat("k7", 20)
	for how, want := range map[redaction]string{hidden: "k7k7… (40 characters, ", tail: "…k7k7 (40 characters, ", veiled: "k… (40 letters, ", shown: long} {
		if got := redacted(how, long); !strings.HasPrefix(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
	for _, how := range []redaction{hidden, tail} {
		if got := redacted(how, "7341"); !strings.HasPrefix(got, "… (4 characters, ") {
			t.Errorf("a short one is shown: %q", got)
		}
	}
	if redacted(hidden, "one") == redacted(hidden, "two") {
		t.Error("two look alike")
	}
}
