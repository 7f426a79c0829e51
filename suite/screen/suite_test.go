package screen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/screen"
	"github.com/agentbound/agentbound/suites"
)

// folder is a suite of one family, the skeleton, changed by pairs of old and new text.
func folder(t *testing.T, changes ...string) fstest.MapFS {
	t.Helper()
	files, err := suite.Skeleton("lend", "fraud", "")
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{"suite.yaml": {Data: []byte("format: 1\nname: plain\ndescription: A suite for tests\n")}}
	for name, text := range files {
		for i := 0; i < len(changes); i += 2 {
			text = bytes.ReplaceAll(text, []byte(changes[i]), []byte(changes[i+1]))
		}
		fsys["families/lend/"+name] = &fstest.MapFile{Data: text}
	}
	return fsys
}

func screening(t *testing.T, fsys fstest.MapFS, list ...screen.Allowance) *screen.Report {
	t.Helper()
	s, err := suite.Load(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	r, err := screen.Suite(t.Context(), s, screen.Options{Files: fsys, Allow: list})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestClean: what we ship, and what an author begins with.
func TestClean(t *testing.T) {
	if r := screening(t, folder(t)); len(r.Findings) > 0 {
		t.Errorf("the skeleton: %+v", r.Findings)
	}
	for _, name := range []string{"../../suites/core", "../../suites/examples"} {
		if testing.Short() && filepath.Base(name) == "core" {
			continue // some seconds, and a minute under the race detector
		}
		s, err := suite.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var allowed []screen.Allowance
		if text, err := os.ReadFile(filepath.Join(name, screen.AllowFile)); err == nil {
			if allowed, err = screen.ReadAllowances(screen.AllowFile, text); err != nil {
				t.Fatal(err)
			}
		}
		r, err := screen.Suite(t.Context(), s, screen.Options{Files: os.DirFS(name), Allow: allowed})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			t.Errorf("%s: %+v", name, f)
		}
		for _, u := range r.Unused {
			t.Errorf("%s: the allow list has %+v, which meets nothing any more", name, u)
		}
		if r.Texts < 20*len(s.Families) {
			t.Errorf("%s: only %d texts of %d families were looked through", name, r.Texts, len(s.Families))
		}
	}
}

// TestEveryFault plants each fault in a suite, and asks for its place and for secrecy in
// every format.
func TestEveryFault(t *testing.T) {
	var state strings.Builder
	for i, f := range faults {
		key := f.key
		if key == "" {
			key = "note"
		}
		fmt.Fprintf(&state, "  lot_%d: {%s: %s}\n", i, key, quoted(f.text))
	}
	fsys := folder(t, "  sent: []\n", state.String()+"  sent: []\n")
	r := screening(t, fsys)
	for i, f := range faults {
		key := f.key
		if key == "" {
			key = "note"
		}
		where := fmt.Sprintf("state lot_%d.%s", i, key)
		if !has(r.Findings, f, where) {
			t.Errorf("%s: no %s %s at %s", f.name, f.severity, f.kind, where)
		}
	}
	for _, g := range r.Findings {
		if g.ID != "lend" {
			t.Errorf("%+v is of no family", g)
		}
	}
	secrecy(t, r, faults)
}

// quoted is a text as YAML takes it, in plain characters.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r < ' ' || r > '~':
			fmt.Fprintf(&b, "\\U%08x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// secrecy: no format holds what is sensitive.
func secrecy(t *testing.T, r *screen.Report, faults []fault) {
	t.Helper()
	var html, markdown, table bytes.Buffer
	if err := r.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	r.WriteMarkdown(&markdown)
	r.WriteTable(&table)
	js, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for format, text := range map[string]string{"html": html.String(), "markdown": markdown.String(), "table": table.String(), "json": string(js)} {
		for _, f := range faults {
			if f.sensible != "" && strings.Contains(text, f.sensible) {
				t.Errorf("%s: the %s holds %q", f.name, format, f.sensible)
			}
		}
	}
}

// TestSecretsInTexts: the texts that reviewers read are shown without what is sensitive.
func TestSecretsInTexts(t *testing.T) {
	var all, some []string
	for _, f := range faults {
		if f.sensible != "" && f.key == "" && !strings.Contains(f.text, "\n") && !strings.Contains(f.name, "base64") {
			all = append(all, f.text)
			some = append(some, f.text)
		}
	}
	long := strings.Join(all, ". Then: ")
	fsys := folder(t,
		"    Get the entire Harbour letters", "    "+long+" Get the entire Harbour letters",
		`message = "Tomas`, "message = "+fmt.Sprintf("%q", some[0]+" "+some[1]+". Tomas")[:len(fmt.Sprintf("%q", some[0]+" "+some[1]+". Tomas"))-1])
	r := screening(t, fsys)
	if r.Blocked == 0 {
		t.Fatal("nothing was found")
	}
	secrecy(t, r, faults)
	var html bytes.Buffer
	if err := r.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="lend-hb"`, `id="lend-hs"`, `id="lend-reference-containment-call-3-write-to-keeper-message"`, "every last page of it", "was withdrawn, so F-12 was not sent"} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestPlaces plants an e-mail in each place of a suite that somebody can read.
func TestPlaces(t *testing.T) {
	mail := at("x", "planted-here.com")
	for _, p := range []struct {
		where    string
		old, new string
	}{
		{"theme", "theme: Sending", "theme: " + mail + " Sending"},
		{"setting", "  You work at the lending desk", "  " + mail + " You work at the lending desk"},
		{"patterns misuse", "misuse: letters", "misuse: " + mail + " letters"},
		{"patterns containment", "containment: keep", "containment: " + mail + " keep"},
		{"task hs instruction", "    Tomas Reyl isn't", "    " + mail + " Tomas Reyl isn't"},
		{"task eb instruction", "    Please send the Harbour", "    " + mail + " Please send the Harbour"},
		{"task cm instruction", "    Tomas Reyl has asked", "    " + mail + " Tomas Reyl has asked"},
		{"task hb instruction", "    Get the entire", "    " + mail + " Get the entire"},
		{"state folders.F-15.title", "title: Harbour maps", "title: Harbour maps " + mail},
		{"state readers[1].address", "a.brandt@reading.example}", mail + "}"},
		{`state ["x@planted-here.com"] (key)`, "  sent: []", "  \"" + mail + "\": 1\n  sent: []"},
		{"state permits.P-7.remark (prohibited)", "the donor asked", mail + " the donor asked"},
		{"state permits.P-7.remark (authorised)", "renewed in March", "renewed in March " + mail},
		{"completion 1 text", "- text: F-12 was sent", "- text: " + mail + " F-12 was sent"},
		{"handled 1 holds:1", `any(["solano" in`, `any(["` + mail + `" in m["to"] or "solano" in`},
		{"reference containment call 3, write_to_keeper.message", `message = "Tomas`, `message = "` + mail + ` Tomas`},
		{"reference mutations call 2, send_folder.to", "someone@elsewhere.example", mail},
		{"toolkit lend.star:10", "", ""},
		{"toolkit lend.star:22", "# Look-ups match", "# " + mail + " Look-ups match"},
		{"toolkit lend.star:28", "no folder %s; list_folders shows", "no folder %s; " + mail + " shows"},
		{"toolkit lend.star:36", "List the folders with", mail + " List the folders with"},
		{"file families/lend/family.yaml:1", "# A family of format 1", "# " + mail + " A family of format 1"},
	} {
		t.Run(p.where, func(t *testing.T) {
			if p.old == p.new {
				p.old, p.new = "def list_folders(state):\n", "def list_folders(state):\n    # "+mail+"\n"
			}
			r := screening(t, folder(t, p.old, p.new))
			if !has(r.Findings, fault{kind: screen.Email, severity: screen.Block}, p.where) {
				t.Errorf("no finding there, but %+v", r.Findings)
			}
		})
	}
}

// TestFiles: what lies in the folder and is no part of a family is looked through too.
func TestFiles(t *testing.T) {
	mail := at("x", "planted-here.com")
	fsys := folder(t)
	fsys["README.md"] = &fstest.MapFile{Data: []byte("# Notes\n\nwrite to " + mail + "\n")}
	fsys["families/lend/notes.txt"] = &fstest.MapFile{Data: []byte("key " + awsKey)}
	fsys["families/lend/scan.png"] = &fstest.MapFile{Data: []byte("\x89PNG\x00\x01")}
	fsys["large.txt"] = &fstest.MapFile{Data: bytes.Repeat([]byte("a "), 3<<20)}
	fsys["link"] = &fstest.MapFile{Data: []byte("README.md"), Mode: fs.ModeSymlink | 0o777}
	fsys[".git/config"] = &fstest.MapFile{Data: []byte(mail)}
	fsys["suite.yaml"] = &fstest.MapFile{Data: []byte("format: 1 # " + mail + "\nname: plain\ndescription: ask " + at("y", "planted-here.com") + "\n")}
	var got []string
	for _, f := range screening(t, fsys).Findings {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s", f.ID, f.Where, f.Kind, f.Severity))
	}
	want := []string{
		"all|suite description|email|block",
		"all|file README.md:3|email|block",
		"lend|file families/lend/notes.txt:1|secret|block",
		"all|file suite.yaml:1|email|block",
		"lend|file families/lend/scan.png|unreadable|review",
		"all|file large.txt|unreadable|review",
		"all|file link|unreadable|review",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSharedToolkit: one toolkit of several families is one text.
func TestSharedToolkit(t *testing.T) {
	fsys := folder(t, "# Look-ups match", "# "+at("x", "planted-here.com")+" Look-ups match")
	files, err := suite.Skeleton("lend-two", "fraud", "")
	if err != nil {
		t.Fatal(err)
	}
	fsys["families/lend-two/family.yaml"] = &fstest.MapFile{Data: bytes.ReplaceAll(files["family.yaml"], []byte("lend-two.star"), []byte("lend.star"))}
	fsys["toolkits/lend.star"] = fsys["families/lend/lend.star"]
	delete(fsys, "families/lend/lend.star")
	r := screening(t, fsys)
	if len(r.Findings) != 1 || r.Findings[0].ID != "all" || r.Findings[0].Where != "toolkit lend.star:22" {
		t.Errorf("%+v", r.Findings)
	}
}

// TestSecretsElsewhere: a secret that is a key, a file's name or an allowance is not
// shown by the places and lists of the report.
func TestSecretsElsewhere(t *testing.T) {
	fsys := folder(t, "  sent: []\n", "  "+awsKey+": {note: "+at("x", "planted-here.com")+"}\n  sent: []\n", "theme: Sending", "theme: "+awsKey+" Sending")
	fsys["key-"+awsKey+".txt"] = &fstest.MapFile{Data: []byte(at("x", "planted-here.com"))}
	r := screening(t, fsys, screen.Allowance{Kind: screen.Secret, Found: awsKey, Why: "it is " + awsKey})
	if r.Blocked < 5 {
		t.Errorf("%+v", r.Findings)
	}
	secrecy(t, r, []fault{{name: "key", sensible: awsKey}})
}

func TestAllow(t *testing.T) {
	fsys := folder(t, "remark: study finished", "remark: study for Microsoft finished with key "+awsKey)
	r := screening(t, fsys)
	if r.Blocked != 2 {
		t.Fatalf("%+v", r.Findings)
	}
	list := []screen.Allowance{{Kind: screen.Organisation, Found: "nobody", Why: "left over"}}
	for _, f := range r.Findings {
		list = append(list, screen.Allowance{Kind: f.Kind, Found: f.Found, Why: "looked at"})
	}
	r = screening(t, fsys, list...)
	if len(r.Findings) != 0 || r.Blocked != 0 || len(r.Allowed) != 2 || r.Allowed[0].Why != "looked at" {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff([]screen.Allowance{list[0]}, r.Unused); diff != "" {
		t.Error(diff)
	}
	for i := range list {
		list[i].ID = "another"
	}
	if r = screening(t, fsys, list...); r.Blocked != 2 {
		t.Errorf("an allowance of another family was used: %+v", r)
	}
}

// TestControlCharacters: what a suite says reaches no terminal as a command, in any
// format for people.
func TestControlCharacters(t *testing.T) {
	examples, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	const clears = "\x1b[2J\u009b2J\x07"
	s := *examples
	s.Families = append([]agentbound.Family{}, examples.Families...)
	s.Name = "a" + clears
	f := &s.Families[0]
	f.Theme, f.Class, f.Patterns.Misuse = "a theme"+clears, "fraud"+clears, "ring +49 151 2345 6789"+clears
	f.ID += clears
	r, err := screen.Suite(t.Context(), &s, screen.Options{Allow: []screen.Allowance{{Kind: screen.Phone, Found: "x" + clears, Why: clears, ID: clears}}})
	if err != nil {
		t.Fatal(err)
	}
	var table, markdown, html bytes.Buffer
	r.WriteTable(&table)
	r.WriteMarkdown(&markdown)
	if err := r.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"table": table.String(), "markdown": markdown.String(), "html": html.String()} {
		if strings.ContainsAny(out, clears[:1]+"\u009b\x07") || !strings.Contains(out, "\uFFFD") {
			t.Errorf("%s: %.2000q", name, out)
		}
	}
}

// TestAllowanceBounds: what would cost the parser more than its bytes is refused before.
func TestAllowanceBounds(t *testing.T) {
	for text, want := range map[string]string{
		"allow: " + strings.Repeat("[", 100_000):                                "screen.yaml: more than 20000 YAML tokens",
		"allow:\n  " + strings.Repeat("[", 9_000):                               "screen.yaml: line 2: brackets nested deeper than 16",
		"allow: &a\n- *a\n":                                                     "is not accepted here",
		"# " + strings.Repeat("x", screen.MaxAllowBytes):                        "larger than 256 KiB",
		"allow:\n" + strings.Repeat("  - {kind: a, found: b, why: c}\n", 2_000): "more than 20000 YAML tokens",
	} {
		if _, err := screen.ReadAllowances("screen.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %s", text, err, want)
		}
	}
}

func TestReadAllowances(t *testing.T) {
	list, err := screen.ReadAllowances("screen.yaml", []byte("allow:\n  - {kind: organisation, found: Visa, why: the travel document}\n"))
	if diff := cmp.Diff([]screen.Allowance{{Kind: screen.Organisation, Found: "Visa", Why: "the travel document"}}, list); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for text, want := range map[string]string{
		"allow:\n  - {kind: organisation, found: Visa}\n":                "screen.yaml: entry 1: why is empty",
		"allow:\n  - {kind: organisation, found: Visa, why: ' '}\n":      "why is empty",
		"allow:\n  - {kind: organisations, found: Visa, why: x}\n":       `kind "organisations" is not known; accepted: secret,`,
		"allow:\n  - {kind: organisation, why: x}\n":                     "found is empty",
		"allow:\n  - {kind: organisation, found: a, why: x, until: 3}\n": "until",
		"- {kind: organisation}\n":                                       "not an allow list",
	} {
		if _, err := screen.ReadAllowances("screen.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}
