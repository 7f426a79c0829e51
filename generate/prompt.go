package generate

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
)

// PromptVersion changes with any word of the prompt: it is kept with every round and
// family.
const PromptVersion = "1"

var (
	//go:embed prompt/guide.md
	guide string
	//go:embed prompt/task.md.tmpl
	taskText string
	//go:embed prompt/revise.md.tmpl
	reviseText string

	promptFuncs = template.FuncMap{
		"fence": fenceFor, "trim": strings.TrimSpace,
		"join": func(list []string) string { return strings.Join(list, ", ") },
	}
	taskTemplate   = template.Must(template.New("task").Funcs(promptFuncs).Option("missingkey=error").Parse(taskText))
	reviseTemplate = template.Must(template.New("revise").Funcs(promptFuncs).Option("missingkey=error").Parse(reviseText))
)

// reviseHead begins the part of a prompt that asks for a revision.
const reviseHead = "# Your last answer did not pass"

// examples are the families of the suite of examples that the prompt shows, one for each kind of
// evidence, so that the form of the facts is seen. No candidate may be near to them.
var examples = map[agentbound.EvidenceKind]agentbound.FamilyID{
	agentbound.Lookup: "transfer-under-agreement", agentbound.Workflow: "notice-about-a-member", agentbound.Changing: "claim-in-instalments",
}

var evidenceMeans = map[agentbound.EvidenceKind]string{
	agentbound.Lookup:   "a read that one could skip; the rule's text names the thing to look up",
	agentbound.Workflow: "met in a call without which the task can't be done at all, such as the queue that the work comes from",
	agentbound.Changing: "the fact flips during the work, after a call that the workflow makes; both sides have an event",
}

// sourced is a file as the templates show it.
type sourced struct{ Name, Text string }

// acceptedLine is an accepted family as later prompts name it.
type acceptedLine struct {
	ID       agentbound.FamilyID
	Class    agentbound.Class
	Evidence agentbound.EvidenceKind
	Theme    string
	Tools    []string
}

func lineOf(f *agentbound.Family) acceptedLine {
	l := acceptedLine{ID: f.ID, Class: f.Class, Evidence: f.Boundary.Evidence, Theme: f.Theme}
	for _, t := range f.Tasks[0].Tools {
		l.Tools = append(l.Tools, t.Name)
	}
	return l
}

// mostAccepted bounds the families that a prompt names.
const mostAccepted = 24

// hints are the accepted families that a draw should be unlike: its class's, then the
// newest.
func hints(all []acceptedLine, class agentbound.Class) []acceptedLine {
	var own, others []acceptedLine
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Class == class {
			own = append(own, all[i])
		} else {
			others = append(others, all[i])
		}
	}
	list := slices.Concat(own, others)
	return list[:min(len(list), mostAccepted)]
}

// prompt is the whole text that a writer is given in a round. It stands alone: whoever
// answers needs nothing else.
func prompt(d Draw, accepted []acceptedLine, revise bool, files Files, feedback string) (string, error) {
	example, err := exampleFor(d.Evidence)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(strings.TrimSpace(guide) + "\n\n")
	err = taskTemplate.Execute(&b, map[string]any{
		"Example": example, "Draw": d, "EvidenceMeans": evidenceMeans[d.Evidence], "Accepted": accepted, "Revise": revise,
	})
	if err != nil || !revise {
		return tidy(b.String()), err
	}
	b.WriteString("\n")
	err = reviseTemplate.Execute(&b, map[string]any{"Files": files.sourced(), "Feedback": feedback})
	return tidy(b.String()), err
}

func tidy(s string) string { return strings.TrimSpace(s) + "\n" }

func (f Files) sourced() []sourced {
	var out []sourced
	for _, name := range f.names() {
		out = append(out, sourced{name, f[name]})
	}
	return out
}

// exampleFor gives the files of the family that is shown with a kind of evidence.
func exampleFor(kind agentbound.EvidenceKind) ([]sourced, error) {
	fsys, folder := suites.Examples(), "families/"+string(examples[kind])
	s, err := suite.Load(fsys, folder)
	if err != nil {
		return nil, fmt.Errorf("the prompt's example: %w", err)
	}
	yaml, err := readFile(fsys, folder+"/"+yamlName)
	if err != nil {
		return nil, fmt.Errorf("the prompt's example: %w", err)
	}
	out := []sourced{{yamlName, yaml}}
	for _, k := range s.Families[0].Toolkits {
		out = append(out, sourced{k.Name, k.Text})
	}
	return out, nil
}

// exampleFamilies are all that prompts may show.
func exampleFamilies() ([]agentbound.Family, error) {
	s, err := suite.Load(suites.Examples(), ".")
	if err != nil {
		return nil, err
	}
	var out []agentbound.Family
	for _, kind := range agentbound.EvidenceKinds() {
		f, ok := s.Family(examples[kind])
		if !ok {
			return nil, fmt.Errorf("the prompt's example %s is not in the suite of examples", examples[kind])
		}
		out = append(out, *f)
	}
	return out, nil
}
