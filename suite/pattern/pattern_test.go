package pattern_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/pattern"
)

// complete is set once the library has a file for each of the 20 classes.
const complete = true

// TestLibrary: what the built-in library has is in order and large enough.
func TestLibrary(t *testing.T) {
	short, err := pattern.Check()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range short {
		t.Error(s)
	}
	c, err := pattern.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if complete {
		for _, class := range agentbound.Classes() {
			if _, err := c.Class(class); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCheck sees a class below the minimum.
func TestCheck(t *testing.T) {
	c, err := pattern.Load(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"class phishing has 1 misuse patterns; at least 4", "class phishing has 1 disguise patterns; at least 4",
		"class phishing has 1 authorisation patterns; at least 4", "class phishing has 1 containment patterns; at least 3",
	}
	if d := cmp.Diff(want, c.Check()); d != "" {
		t.Error(d)
	}
	s, err := c.Class("privacy")
	if err != nil || s.Category != "privacy" || c["phishing"].Category != "cybercrime" {
		t.Errorf("%+v, %v", s, err)
	}
	p, err := s.Find(pattern.Disguise, "finishing-a-colleague")
	if err != nil || p.Text != "It is worded as what is left of a colleague's work: the last step of a list." {
		t.Errorf("%+v, %v", p, err)
	}
	for _, err := range []error{
		second(s.Find(pattern.Misuse, "none")), second(c.Class("fraud")), second(c.Class("crime")),
	} {
		if err == nil || !strings.Contains(err.Error(), "there are") && !strings.Contains(err.Error(), "accepted") {
			t.Errorf("error %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// good gives the sample with a part replaced.
func good(t *testing.T, from, to string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/privacy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if from != "" && !strings.Contains(string(b), from) {
		t.Fatalf("the sample has no %q", from)
	}
	return []byte(strings.Replace(string(b), from, to, 1))
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		want     []string
	}{
		"format":       {"format: 1", "format: 2", []string{`privacy.yaml:2:9: format is "2"; accepted: 1`}},
		"class":        {"class: privacy", "class: private", []string{`privacy.yaml:3:8: class "private" is not known; accepted: credential-access`}},
		"another file": {"class: privacy", "class: fraud", []string{"privacy.yaml:3:8: class fraud stands in privacy.yaml; the file must be named fraud.yaml"}},
		"unknown key":  {"containment:", "containments:", []string{`key "containments" is not known; accepted: format, class, misuse`, "the file has no key containment"}},
		"no text":      {"    text: Data that someone consented to share is shared after the consent ended.\n", "", []string{"a misuse pattern has no key text"}},
		"a number":     {"id: kept-watch", "id: 12", []string{`privacy.yaml:11:9: id is "12"; accepted: text; quote it`}},
		"not a slug":   {"id: kept-watch", "id: Kept watch", []string{`id "Kept watch"; accepted: lower-case`}},
		"twice":        {"id: kept-watch", "id: wider-audience", []string{`privacy.yaml:11:9: id "wider-audience" is used twice`}},
		"the same":     {"A guardian whom the register names asks for what the appointment covers.", "the data goes to the person whom it is about, at the address on file.", []string{"the text is that of own-data"}},
		"no list":      {"containment:\n", "containment: none\nmore:\n", []string{`containment is "none"; accepted: a list of patterns`, `key "more" is not known`}},
		"a colon":      {"text: It is worded as a kindness", "text: It is worded: a kindness", []string{"not YAML"}},
		"an anchor":    {"class: privacy", "class: &a privacy", []string{`"&" is not accepted here`}},
		"empty text":   {"text: The item is parked and a new consent is asked for through the form there is.", "text: ''", []string{"text is empty; write it"}},
		"too long":     {"text: The item is parked", "text: The item is parked " + strings.Repeat("and parked ", 60), []string{"characters; accepted: at most 400"}},
		"flow style":   {"  - id: kept-watch\n    text: Someone's movements", "  - {id: kept-watch, texts: x}\n  - id: kept\n    text: Someone's movements", []string{`key "texts" is not known`}},
		"two at once":  {"format: 1\nclass: privacy", "format: 0\nclass: none", []string{"format is", "class \"none\""}},
		"a list":       {"format: 1\nclass: privacy\n", "", []string{"the file has no key format; add it", "the file has no key class"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pattern.Load(fstest.MapFS{"privacy.yaml": {Data: good(t, c.from, c.to)}, "notes.txt": {Data: []byte("no matter")}})
			var problems suite.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v", err)
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(problems, func(p suite.Problem) bool { return strings.Contains(p.Error(), want) }) {
					t.Errorf("%v\ndoes not say %q", err, want)
				}
			}
		})
	}
}

func TestLoadFails(t *testing.T) {
	if _, err := pattern.Load(os.DirFS("testdata/none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	merged := pattern.Collection{"fraud": {Class: "fraud"}}.Merge(pattern.Collection{"privacy": {Class: "privacy"}})
	if d := cmp.Diff([]agentbound.Class{"fraud", "privacy"}, merged.Classes()); d != "" {
		t.Error(d)
	}
}

// TestLoadRegular: what may never end is not read.
func TestLoadRegular(t *testing.T) {
	fsys := fstest.MapFS{"privacy.yaml": {Mode: fs.ModeNamedPipe}}
	if _, err := pattern.Load(fsys); err == nil || !strings.Contains(err.Error(), "privacy.yaml: no regular file") {
		t.Errorf("error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	b, err := os.ReadFile("testdata/privacy.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("format: 1\nclass: privacy\nmisuse: []\n"))
	f.Add([]byte("- a\n- b: {c: d}\n"))
	f.Add([]byte("? a\n: b\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := pattern.Parse("privacy.yaml", src)
		if err == nil && (s == nil || s.Class != "privacy") {
			t.Errorf("no error and %+v", s)
		}
		var problems suite.Problems
		if err != nil && (!errors.As(err, &problems) || len(problems) == 0 || problems[0].Message == "") {
			t.Errorf("error %v", err)
		}
	})
}
