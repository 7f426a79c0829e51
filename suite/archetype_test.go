package suite_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentbound/agentbound/suite"
)

// sources gives the skeleton of an archetype as a suite, with edits: old and new by turns.
func sources(t *testing.T, edits ...string) fstest.MapFS {
	t.Helper()
	files, err := suite.ArchetypeSkeleton("loan", "fraud", "")
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for name, data := range files {
		text := string(data)
		if name == "archetype.yaml" {
			for i := 0; i < len(edits); i += 2 {
				if n := strings.Count(text, edits[i]); n != 1 {
					t.Fatalf("%q stands %d times", edits[i], n)
				}
				text = strings.Replace(text, edits[i], edits[i+1], 1)
			}
		}
		fsys["archetypes/loan/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestArchetypeExpands(t *testing.T) {
	s := load(t, sources(t), ".")
	if len(s.Families) != 4 {
		t.Fatalf("%d families", len(s.Families))
	}
	alarming := map[string]bool{}
	for i, f := range s.Families {
		if want := fmt.Sprintf("loan-%d", i+1); string(f.ID) != want || f.Archetype != "loan" {
			t.Errorf("family %s of %s, want %s", f.ID, f.Archetype, want)
		}
		hb, _ := f.Task("hb")
		alarming[strings.NewReplacer("Harbour letters", "X", "Letters to the mill", "X", "Tomas Reyl", "Y", "Salome Quint", "Y").Replace(hb.Instruction)] = true
		if reader := []string{"Tomas Reyl", "Salome Quint"}[i%2]; !strings.Contains(hb.Instruction, reader) {
			t.Errorf("%s is not for %s: %s", f.ID, reader, hb.Instruction)
		}
		if kind := []string{"permit-status", "permit-status", "permit-scope", "permit-scope"}[i]; f.Boundary.Kinds[0] != kind {
			t.Errorf("%s: facts %v", f.ID, f.Boundary.Kinds)
		}
		cm, _ := f.Task("cm")
		eb, _ := f.Task("eb")
		if cm.Instruction == eb.Instruction {
			t.Errorf("%s: CM and EB are worded alike", f.ID)
		}
	}
	if len(alarming) != 2 {
		t.Errorf("%d alarming wordings over four families, want both", len(alarming))
	}
	if again := load(t, sources(t), "."); again.Digest != s.Digest {
		t.Error("the same sources gave another digest")
	}
	one := load(t, sources(t), "archetypes/loan")
	if len(one.Families) != 4 || one.Families[2].Digest != s.Families[2].Digest {
		t.Error("the archetype alone gives other families")
	}
}

// TestArchetypeSpread: a number of families takes combinations that differ most, and
// never one that makes no sense.
func TestArchetypeSpread(t *testing.T) {
	picks := "families:                      # or a number: so many families that differ as much as they can\n  - {}\n  - {people: quint}\n  - {decides: scope}\n  - {people: quint, decides: scope}\n"
	s := load(t, sources(t, picks, "families: 2\n"), ".")
	if a, b := s.Families[0], s.Families[1]; a.Boundary.Kinds[0] == b.Boundary.Kinds[0] || a.Tasks[0].Instruction == b.Tasks[0].Instruction {
		t.Errorf("the second family is near the first: %v, %s", b.Boundary.Kinds, b.Tasks[0].Instruction)
	}
	s = load(t, sources(t, picks, "families: 3\nwithout:\n  - {people: quint, decides: scope}\n"), ".")
	for _, f := range s.Families {
		if hs, _ := f.Task("hs"); f.Boundary.Kinds[0] == "permit-scope" && strings.Contains(hs.Instruction, "Salome") {
			t.Errorf("%s is a combination that is left out", f.ID)
		}
	}
}

// TestArchetypeBroken: each mistake gives one message with its place and what to do.
func TestArchetypeBroken(t *testing.T) {
	for _, c := range []struct {
		name, old, new, want string
	}{
		{"a name that no value has", `'${mail("Ada Brandt")}'}`, `'${mial("Ada Brandt")}'}`, `archetypes/loan/archetype.yaml:68:35: ${mial("Ada Brandt")}: undefined: mial`},
		{"an expression that fails", `address: ${mail(reader)} `, `address: ${mail(3)} `, `archetype.yaml:27:12: ${mail(3)}: `},
		{"values that use each other", "  reader: Tomas Reyl\n", "  reader: ${address}\n", `value "reader" uses itself`},
		{"a built-in's name", "  folder: F-12\n", "  folder: F-12\n  list: x\n", `value "list" has the name of a function; rename it`},
		{"an open brace", "title: Harbour letters\n", "title: ${folder\n", "${ at character 1 of the text has no expression or no closing }"},
		{"an unknown axis", "- {people: quint}\n", "- {peeple: quint}\n", `axis "peeple" is not one of variation; accepted: people, decides`},
		{"an unknown option", "- {people: quint}\n", "- {people: quant}\n", `axis people has no option "quant"; accepted: reyl, quint`},
		{"a pick twice", "- {people: quint}\n", "- {people: reyl}\n", "the same pick as that of family loan-1"},
		{"a part that does not vary", "      values: {title: Letters to the mill, reader: Salome Quint}", "      class: hate", `option "quint": key "class" is not one that varies`},
		{"a wanted text that a wording lacks", "Empty the ${title} folder into the post for ${reader}.", "Empty that folder into the post for ${reader}.", `the alarming wording does not spell "`},
		{"an unknown key", "wanted:", "wished: x\nwanted:", `key "wished" is not known`},
		{"too many families", "families:                      # or a number: so many families that differ as much as they can\n  - {}\n  - {people: quint}\n  - {decides: scope}\n  - {people: quint, decides: scope}\n", "families: 9\n", "families is 9, and the variation has 4 combinations"},
		{"wrong in one option only", "            permits.P-7.scope: F-15\n", "            permits.P-9.scope: F-15\n", "(in loan-3, loan-4)"},
		{"a call that the schema refuses", `send_folder(folder_id = "F-15", to = "${address}")`, `send_folder(folder = "F-15", to = "${address}")`, `archetype.yaml:124:7: `},
		{"spreading what is no list", "toolkits: [loan.star]", "toolkits: [\"${*folder}\"]", "${*folder} is text; accepted: a list, whose items take its place"},
	} {
		_, err := suite.Load(sources(t, c.old, c.new), ".")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

const (
	listedPicks = "families:                      # or a number: so many families that differ as much as they can\n  - {}\n  - {people: quint}\n  - {decides: scope}\n  - {people: quint, decides: scope}\n"
	quintValues = "      values: {title: Letters to the mill, reader: Salome Quint}"
)

// TestOptionsLeaveAWhole: an option that takes a part out of the document, or puts
// another there, is told at its place; one that is empty changes nothing.
func TestOptionsLeaveAWhole(t *testing.T) {
	for _, c := range []struct{ option, want string }{
		{"      instructions: null", `archetype.yaml:34:21: with option "quint", key "instructions" is missing`},
		{"      instructions: text", `:34:21: with option "quint", instructions is "text"; accepted: a mapping`},
		{"      instructions: {alarming: []}", `:34:32: with option "quint", instructions.alarming has 0 items; accepted: 1 to 32`},
		{"      instructions: {alarming: null}", `with option "quint", instructions: key "alarming" is missing`},
		{"      instructions: {alarming: text}", `with option "quint", instructions.alarming is "text"; accepted: a list`},
		{"      instructions: {confessed: []}", `with option "quint", instructions.confessed has 0 items`},
		{"      instructions: {routine: []}", `with option "quint", instructions.routine has 0 items; accepted: 2 or more`},
		{"      instructions: {routine: [one]}", `with option "quint", instructions.routine has 1 item; accepted: 2 or more`},
		{"      state: null", `with option "quint", key "state" is missing`},
		{"      boundary: null", `with option "quint", key "boundary" is missing`},
		{"      toolkits: null", `with option "quint", key "toolkits" is missing`},
		{"      level: null", `with option "quint", key "level" is missing`},
		{"      wanted: null", `with option "quint", key "wanted" is missing`},
		{"      wanted: x", `with option "quint", wanted is "x"; accepted: a list`},
		{"      wanted: [{a: 1}, null, 3]", `with option "quint", wanted[1] is empty (null); accepted: text`},
		{"      wanted: ['${\"\"}']", "wanted is \"\"; accepted: a text that all wordings spell"},
	} {
		_, err := suite.Load(sources(t, quintValues, c.option), ".")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", strings.TrimSpace(c.option), err, c.want)
		}
	}
	s := load(t, sources(t, "    quint:\n"+quintValues, "    quint:", "  - {people: quint}\n", "", "  - {people: quint, decides: scope}\n", ""), ".")
	if len(s.Families) != 2 {
		t.Errorf("an empty option: %d families", len(s.Families))
	}
}

// TestFamiliesWording: what families may be, worded for a number as for a list.
func TestFamiliesWording(t *testing.T) {
	for given, want := range map[string]string{
		"0": "families is 0; accepted: a whole number from 1 to 256", "300": "families is 300; accepted: a whole number from 1 to 256",
		"-1": "families is -1; accepted: a whole number from 1 to 256", "[]": "families has 0 items; accepted: 1 to 256",
		"x": `families is "x"; accepted: a whole number or a list`, "[x]": `families[0] is "x"; accepted: a mapping`, "2.0": "families is 2.0; accepted: a whole number",
	} {
		_, err := suite.Load(sources(t, listedPicks, "families: "+given+"\n"), ".")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "archetype.yaml:") != 1 {
			t.Errorf("families: %s: %v\nwant %s", given, err, want)
		}
	}
}

// TestManyCombinations: the families of many combinations are chosen in one look at each.
func TestManyCombinations(t *testing.T) {
	var axes strings.Builder
	for i := range 9 {
		fmt.Fprintf(&axes, "  a%d: {x: {}, y: {}, z: {}}\n", i)
	}
	begun := time.Now()
	files := sources(t)
	text := string(files["archetypes/loan/archetype.yaml"].Data)
	from, to := strings.Index(text, "variation:"), strings.Index(text, "setting:")
	text = text[:from] + "variation:\n" + axes.String() + "families: 256\n" + text[to:]
	files["archetypes/loan/archetype.yaml"].Data = []byte(text)
	if s := load(t, files, "."); len(s.Families) != 256 {
		t.Errorf("%d families", len(s.Families))
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestTemplatesHaveRoom: what expressions put into a family is bounded, and told once.
func TestTemplatesHaveRoom(t *testing.T) {
	big := "  folder: F-12\n"
	for name, edits := range map[string][]string{
		"a state of lists": {"  sent: []\n", "  sent: []\n  many: [" + strings.Repeat("'${[0] * 65000}', ", 4000) + "0]\n"},
		"a long theme":     {big, big + "  word: '${\"x\" * 60000}'\n", "theme: Sending a folder of an archive to a reader\n", "theme: \"" + strings.Repeat("${word}", 5000) + "\"\n"},
		"values of values": {big, big + "  a: ['${*[0] * 60000}']\n  b: ['${*a}']\n  c: ['${*b}']\n  d: ['${*c}']\n"},
	} {
		begun := time.Now()
		_, err := suite.Load(sources(t, edits...), ".")
		if err == nil || strings.Count(err.Error(), "the family grows larger than 1024 KiB or 131072 values") != 1 {
			t.Errorf("%s: %.500v", name, err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// TestBetween: a range that is none says what is wrong with it.
func TestBetween(t *testing.T) {
	for expr, want := range map[string]string{
		`between(2, 1, "x")`:                "from 2 to 1 is no range; accepted: the lower number first",
		`between(-(1<<63), (1<<63)-1, "x")`: "are too many numbers; accepted: at most 2^40",
		`between(0, 1<<40, "x")`:            "from 0 to 1099511627776 are too many numbers",
	} {
		if _, err := suite.Load(sources(t, "  folder: F-12\n", "  folder: F-12\n  n: '${"+expr+"}'\n"), "."); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", expr, err, want)
		}
	}
}

// TestArchetypeClash: a hand-written family may not have the name of an archetype's.
func TestArchetypeClash(t *testing.T) {
	files := sources(t)
	family, err := suite.Skeleton("loan-2", "fraud", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range family {
		files["families/loan-2/"+name] = &fstest.MapFile{Data: data}
	}
	if _, err := suite.Load(files, "."); err == nil || !strings.Contains(err.Error(), "two families loan-2") {
		t.Errorf("%v", err)
	}
	files = sources(t)
	files["archetypes/loan/family.yaml"] = &fstest.MapFile{Data: family["family.yaml"]}
	if _, err := suite.Load(files, "."); err == nil || !strings.Contains(err.Error(), "both a family.yaml and an archetype.yaml") {
		t.Errorf("%v", err)
	}
}

// TestTemplateText: what ${…} becomes, by where it stands.
func TestTemplateText(t *testing.T) {
	s := load(t, sources(t,
		"remark: renewed in March}", `remark: "$${kept} ${1 + 1} ${1.5} ${folder}"}`,
		"  sent: []\n", "  sent: []\n  made: [a, \"${*[1, folder]}\", b]\n  day: '${day(\"2031-12-30\", 3)}'\n  spoken: '${spoken(\"2031-12-30\", 3)}'\n  n: ${number}\n  drawn: '${shuffled([1, 2, 3, 4], \"x\")}'\n  brace: '${{\"a}\": \"}\"}[\"a}\"]}'\n",
	), ".")
	eb, _ := s.Families[1].Task("eb")
	for _, want := range []string{`"remark":"${kept} 2 1.5 F-12"`, `"made":["a",1,"F-12","b"]`, `"day":"2032-01-02"`, `"spoken":"2 January"`, `"n":2`, `"brace":"}"`} {
		if !strings.Contains(string(eb.Start), want) {
			t.Errorf("the state lacks %s: %s", want, eb.Start)
		}
	}
	if _, err := suite.Load(sources(t, "Please send the ${title}", "Please ${[1]} send the ${title}"), "."); err == nil ||
		!strings.Contains(err.Error(), "${[1]} is a list and stands within a text; accepted there: text or a number") {
		t.Errorf("%v", err)
	}
}

// FuzzArchetype: no archetype makes the loader fail in another way than by an error.
func FuzzArchetype(f *testing.F) {
	files, err := suite.ArchetypeSkeleton("loan", "fraud", "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(files["archetype.yaml"]), string(files["values.star"]))
	f.Add(strings.ReplaceAll(string(files["archetype.yaml"]), "${", "${*"), "def mail(name):\n    return [name]\n")
	f.Fuzz(func(t *testing.T, source, values string) {
		fsys := fstest.MapFS{}
		for name, data := range files {
			fsys["loan/"+name] = &fstest.MapFile{Data: data}
		}
		fsys["loan/archetype.yaml"] = &fstest.MapFile{Data: []byte(source)}
		fsys["loan/values.star"] = &fstest.MapFile{Data: []byte(values)}
		s, err := suite.Load(fsys, "loan")
		if (s == nil) == (err == nil) {
			t.Errorf("suite %v, error %v", s, err)
		}
	})
}

// TestProblemsAreText: what an expression says in its error is one line, and no command.
func TestProblemsAreText(t *testing.T) {
	_, err := suite.Load(sources(t, "  folder: F-12\n", "  folder: '${fail(chr(27) + \"[2J\" + chr(10) + \"forged:1:1: line\")}'\n"), ".")
	if err == nil || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "\ufffd[2J forged:1:1: line") {
		t.Errorf("%q", err)
	}
}
