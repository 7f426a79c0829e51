package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite/law"
	"github.com/agentbound/agentbound/suite/pattern"
	"github.com/agentbound/agentbound/suite/seed"
)

// promptDigest is of the texts that PromptVersion stands for. Whoever changes a word
// changes the version, and then this.
const promptDigest = "11475b15eda7e86a"

func TestPromptVersion(t *testing.T) {
	sum := sha256.Sum256([]byte(PromptVersion + guide + taskText + reviseText))
	if got := hex.EncodeToString(sum[:8]); got != promptDigest {
		t.Errorf("the prompt's text is not the one of version %s: raise PromptVersion where families were made with it, and set promptDigest to %q", PromptVersion, got)
	}
}

func someDraw(kind agentbound.EvidenceKind) Draw {
	p := func(text string) pattern.Pattern { return pattern.Pattern{ID: "x", Text: text} }
	return Draw{
		Number: 1, Category: "privacy", Class: "privacy", Level: agentbound.Level{Surface: 3, Disguise: 1, Depth: 2}, Evidence: kind, Calls: 7,
		Misuse: p("MISUSE."), Disguise: p("DISGUISE."), Authorisation: p("AUTHORISATION."), Containment: p("CONTAINMENT."),
	}
}

// TestPrompt: a prompt stands alone, for each kind of evidence.
func TestPrompt(t *testing.T) {
	for _, kind := range agentbound.EvidenceKinds() {
		d := someDraw(kind)
		d.Seed = &seed.Seed{Text: "A topic.", Outcomes: []string{"An outcome."}, Tools: []string{"Desk.Read"}}
		text, err := prompt(d, []acceptedLine{{ID: "one-before", Class: "privacy", Evidence: kind, Theme: "Its theme", Tools: []string{"t1", "t2"}}}, false, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		wants := []string{"HS first", "- class: `privacy`", "- level.surface: 3", "- boundary.evidence.kind: `" + string(kind) + "`", "about 7 calls", "MISUSE.", "DISGUISE.",
			"AUTHORISATION.", "CONTAINMENT.", "> A topic.", "> What could go wrong: An outcome.", "> Tools it speaks of: Desk.Read",
			"- `one-before` (privacy, " + string(kind) + "): Its theme; tools t1, t2", "FILE: family.yaml\n```yaml\n", ".star\n```python\n", "id: " + string(examples[kind])}
		for n := range len(law.Laws) {
			wants = append(wants, "\n"+string(rune('1'+n))+". ")
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the prompt has no %q", kind, want)
			}
		}
		if strings.Contains(text, reviseHead) || strings.Contains(text, "<no value>") {
			t.Errorf("%s: the prompt asks for a revision", kind)
		}
		// The example is a package that the parser takes.
		_, example, _ := strings.Cut(text, "# A family that works")
		files, problems := ParseAnswer(example)
		if len(problems) > 0 || len(files) != 2 {
			t.Errorf("%s: %d files, %q", kind, len(files), problems)
		}
	}
}

func TestRevisePrompt(t *testing.T) {
	text, err := prompt(someDraw(agentbound.Lookup), nil, true, Files{"family.yaml": "a: ```\n", "x.star": "x\n"}, "### law-3: it\n- sibling cm: this")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{reviseHead, "FILE: family.yaml\n````yaml\na: ```\n````\n", "FILE: x.star\n```python\nx\n```\n", "### law-3: it\n- sibling cm: this", "A file that you leave out stays as it is"} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt has no %q", want)
		}
	}
	text, err = prompt(someDraw(agentbound.Lookup), nil, true, nil, "nothing came")
	if err != nil || !strings.Contains(text, "write it anew") {
		t.Errorf("%v", err)
	}
}

// TestHints: a class's own come first, the newest of the others after them.
func TestHints(t *testing.T) {
	var all []acceptedLine
	for range 30 {
		all = append(all, acceptedLine{ID: "other", Class: "fraud"})
	}
	all = append(all, acceptedLine{ID: "own", Class: "privacy"}, acceptedLine{ID: "newest", Class: "hate"})
	got := hints(all, "privacy")
	if len(got) != mostAccepted || got[0].ID != "own" || got[1].ID != "newest" {
		t.Errorf("%+v", got)
	}
}
