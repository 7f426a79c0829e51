package suite

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
)

// forged packs a suite of one family after a change, with digests that attest it.
func forged(t *testing.T, change func(*Suite, *agentbound.Family)) (*Suite, []byte) {
	t.Helper()
	s, err := Open("../suites/examples")
	if err != nil {
		t.Fatal(err)
	}
	s.Families = s.Families[:1]
	change(s, &s.Families[0])
	for i := range s.Families {
		s.Families[i].Digest = familyDigest(s.Families[i])
	}
	s.Digest = s.suiteDigest()
	b, err := s.packed()
	if err != nil {
		t.Fatal(err)
	}
	return s, b
}

func rename(f *agentbound.Family, id string) {
	f.ID = agentbound.FamilyID(id)
	for i := range f.Tasks {
		f.Tasks[i].Family, f.Tasks[i].ID = f.ID, agentbound.TaskID(id+"/"+string(f.Tasks[i].Split))
	}
}

// TestUnpackRefuses: digests attest only themselves, so a packed suite is held to what
// the loader accepts.
func TestUnpackRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Suite, *agentbound.Family)
		want   string
	}{
		{"an id above the folder", func(_ *Suite, f *agentbound.Family) { rename(f, "../../pwned") }, "accepted: a slug"},
		{"the id of the folder above", func(_ *Suite, f *agentbound.Family) { rename(f, "..") }, "accepted: a slug"},
		{"an empty id", func(_ *Suite, f *agentbound.Family) { rename(f, "") }, "id is empty"},
		{"a toolkit above the folder", func(_ *Suite, f *agentbound.Family) { f.Toolkits[0].Name = "../../kit.txt" }, "accepted: the name of a file such as records.star"},
		{"a toolkit that does not load", func(_ *Suite, f *agentbound.Family) { f.Toolkits[0].Text = "def (((\x1b[2J" }, "the toolkit does not load"},
		{"a toolkit that never ends", func(_ *Suite, f *agentbound.Family) { f.Toolkits[0].Text = "x = [i for i in range(1000000)]\n" }, "family claim-in-instalments, claims.star:1:"},
		{"no toolkit", func(_ *Suite, f *agentbound.Family) { f.Toolkits = nil }, "toolkits has 0 items"},
		{"a level", func(_ *Suite, f *agentbound.Family) { f.Level.Surface = 99 }, "level.surface is 99"},
		{"a class", func(_ *Suite, f *agentbound.Family) { f.Class = "\x1b[2J" }, `class "\x1b[2J" is not known`},
		{"a kind of evidence", func(_ *Suite, f *agentbound.Family) { f.Boundary.Evidence = "zzz" }, `"zzz" is not known`},
		{"a critical tool that is none", func(_ *Suite, f *agentbound.Family) { f.Boundary.Critical = "none" }, "the toolkits have no tool"},
		{"a predicate that is none", func(_ *Suite, f *agentbound.Family) { f.Completion[0].Holds = "(((" }, "family claim-in-instalments: completion[0].holds"},
		{"no workflow", func(_ *Suite, f *agentbound.Family) { f.Reference.Workflow = nil }, "reference.workflow has 0 items"},
		{"a state that is a list", func(_ *Suite, f *agentbound.Family) {
			for i := range f.Tasks {
				f.Tasks[i].Start = agentbound.Value("[1,2]")
			}
		}, "state is a list"},
		{"a state that is none", func(_ *Suite, f *agentbound.Family) {
			for i := range f.Tasks {
				f.Tasks[i].Start = nil
			}
		}, "state"},
		{"a start that the facts do not give", func(_ *Suite, f *agentbound.Family) {
			for i := range f.Tasks {
				if f.Tasks[i].Split.Side() == agentbound.Prohibited {
					f.Tasks[i].Start = agentbound.Value("{}")
				}
			}
		}, "not those that its parts give"},
		{"a tool that no toolkit has", func(_ *Suite, f *agentbound.Family) {
			for i := range f.Tasks {
				f.Tasks[i].Tools = append([]agentbound.Tool{{Name: "x", Schema: agentbound.Value("{}")}}, f.Tasks[i].Tools...)
			}
		}, "not those that its parts give"},
		{"no families", func(s *Suite, _ *agentbound.Family) { s.Families = nil }, "has no families"},
		{"a family twice", func(s *Suite, f *agentbound.Family) { s.Families = append(s.Families, *f) }, "stands twice"},
		{"a long name", func(s *Suite, _ *agentbound.Family) { s.Name = strings.Repeat("n", 200) }, "name has 200 characters; accepted: at most 80"},
		{"a name with a line's end", func(s *Suite, _ *agentbound.Family) { s.Name = "x\n" }, "white space"},
	} {
		s, b := forged(t, c.change)
		if _, err := Unpack(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
		if _, err := s.Pack(); err == nil {
			t.Errorf("%s: it was packed", c.name)
		}
	}
	if _, b := forged(t, func(*Suite, *agentbound.Family) {}); b != nil {
		if _, err := Unpack(b); err != nil {
			t.Errorf("unchanged: %v", err)
		}
	}
}

// TestWriteStaysInside: even a suite that nobody checked is written into its folder only.
func TestWriteStaysInside(t *testing.T) {
	for name, change := range map[string]func(*Suite, *agentbound.Family){
		"id":      func(_ *Suite, f *agentbound.Family) { rename(f, "../../pwned") },
		"toolkit": func(_ *Suite, f *agentbound.Family) { f.Toolkits[0].Name = "../../../pwned" },
	} {
		s, _ := forged(t, change)
		above := t.TempDir()
		if err := s.Write(filepath.Join(above, "new")); err == nil {
			t.Errorf("%s: written", name)
		}
		if _, err := os.Stat(filepath.Join(above, "pwned")); err == nil {
			t.Errorf("%s: written outside", name)
		}
	}
}

// TestUnpackBounds: a small file that unfolds to much is refused before it is decoded.
func TestUnpackBounds(t *testing.T) {
	const head = `{"suite":{"name":"x","seed":0,"digest":"","families":null},`
	many := func(s string, n int) string { return strings.Repeat(s+",", n-1) + s }
	for _, c := range []struct{ name, text, want string }{
		{"zeros", strings.Repeat(" ", maxPacked+1), "unfolds to more than 64 MiB"},
		{"families", head + `"families":[` + many("{}", maxPackedItems*2) + `]}`, "family  is not whole"},
		{"toolkits", head + `"sources":[` + many("{}", maxPackedItems+1) + `]}`, "more than 10000 toolkits"},
		{"tools", head + `"tools":[[` + many("{}", maxPackedCommas+2) + `]]}`, "more than 16 MiB or 1048576 members"},
		{"tools in many sets", head + `"tools":[` + many("["+many("{}", maxPackedCommas/2+2)+"]", 3) + `]}`, "more than 1048576 members"},
		{"calls", head + `"families":[{"reference":{"workflow":[` + many("{}", maxPackedCommas+2) + `]}}]}`, "or 1048576 members"},
		{"families in the header", `{"suite":{"families":[` + many("{}", 1_000_000) + `]}}`, "its header has"},
		{"an unknown part", head + `"x":1}`, `part "x" is not known`},
		{"another type", head + `"families":[{"id":[]}]}`, `array is no value for "id"`},
		{"something behind", head + `"families":[]} {}`, "something follows"},
		{"no object", `[]`, `"{" is wanted`},
		{"cut", head, "EOF"},
	} {
		b, err := compressed([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Unpack(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

// TestDrawName: a drawn suite has a name that a suite.yaml may have.
func TestDrawName(t *testing.T) {
	s, err := Open("../suites/examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{strings.Repeat("n", 200), " ", "a\x1b[2J", "x\n"} {
		if _, err := s.Draw(name, 1); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	if _, err := s.Draw(strings.Repeat("n", 80), 1); err != nil {
		t.Error(err)
	}
}

// FuzzUnpack: no file makes reading fail in another way than by an error.
func FuzzUnpack(f *testing.F) {
	s, err := Open("../suites/examples")
	if err != nil {
		f.Fatal(err)
	}
	b, err := s.packed()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(bytes.Replace(b, []byte("suite"), []byte("Suite"), 1))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Unpack(b)
		if (s == nil) == (err == nil) {
			t.Errorf("suite %v, error %v", s, err)
		}
	})
}
