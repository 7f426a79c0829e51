package screen_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/suite/screen"
)

// TestSlurs uses mild entries of the list, in parts.
func TestSlurs(t *testing.T) {
	word, phrase := parts("sub", "human"), parts("white", " tra", "sh")
	for _, text := range []string{
		"they are " + word + ", he wrote", strings.ToUpper(word), word + "s", "a post: " + phrase + "!", strings.ReplaceAll(phrase, " ", "\u00a0\u200b"),
		parts("5ub", "hum4n"), parts("s u b ", "h u m a n"), parts("s\u0443", "bhuman")[:1] + parts("ub", "hum\u0430n"), parts("ｓｕｂ", "ｈｕｍａｎ"),
	} {
		found, err := screen.Texts(t.Context(), []screen.Text{{Where: "x", Text: text}})
		if err != nil {
			t.Fatal(err)
		}
		if !has(found, fault{kind: screen.Slur, severity: screen.Block}, "x") {
			t.Errorf("%q: %+v", text, found)
		}
		for _, f := range found {
			if strings.Contains(strings.ToLower(f.Found), word[1:]) {
				t.Errorf("the finding shows the word: %+v", f)
			}
		}
	}
}

// TestWordList: each line is a digest with kind and severity, sorted, no two alike.
func TestWordList(t *testing.T) {
	text, err := os.ReadFile("data/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^[0-9a-f]{16} (?:slur|sexual|profanity) (?:block|review)$`)
	var lines []string
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); !strings.HasPrefix(l, "#") {
			lines = append(lines, l)
			if !line.MatchString(l) {
				t.Errorf("%q is no line of the list; agentbound suite screen --bar makes one", l)
			}
		}
	}
	if len(lines) < 500 {
		t.Errorf("%d words", len(lines))
	}
	if !slices.IsSorted(lines) {
		t.Error("the list is not sorted: sort its lines (LC_ALL=C sort), so that a line's place tells nothing")
	}
	for i := 1; i < len(lines); i++ {
		if lines[i][:16] == lines[i-1][:16] {
			t.Errorf("%s is listed twice", lines[i][:16])
		}
	}
}

// TestNameLists: every name is found as it is written, and in capitals where it is no
// common word.
func TestNameLists(t *testing.T) {
	for file, kind := range map[string]screen.Kind{"data/organisations.txt": screen.Organisation, "data/persons.txt": screen.Person} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for l := range strings.Lines(string(text)) {
			if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "#") {
				continue
			}
			if seen[l] {
				t.Errorf("%s: %s is listed twice", file, l)
			}
			seen[l] = true
			name, common := strings.CutPrefix(l, "=")
			forms := []string{"a letter of " + name + ", it says", "we asked " + name + "'s clerk"}
			if !common {
				forms = append(forms, strings.ToUpper(name))
			}
			for _, form := range forms {
				found, err := screen.Texts(t.Context(), []screen.Text{{Where: "x", Text: form}})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(found, func(f screen.Finding) bool {
					return f.Kind == kind || f.Kind == screen.Domain && strings.Contains(name, ".")
				}) {
					t.Errorf("%s: %q: %+v", file, form, found)
				}
			}
		}
	}
}

func TestWordLines(t *testing.T) {
	var out strings.Builder
	if err := screen.WriteWordLines(&out, strings.NewReader("Grumble\n\ntwo words\n"), screen.Profanity, screen.Review); err != nil {
		t.Fatal(err)
	}
	want := screen.WordDigest("gRÜmble") + " profanity review\n" + screen.WordDigest("two  words!") + " profanity review\n"
	if out.String() != want {
		t.Errorf("%s; want %s", out.String(), want)
	}
	if err := screen.WriteWordLines(&out, strings.NewReader("fine\none two three four\n"), screen.Slur, screen.Block); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
}
