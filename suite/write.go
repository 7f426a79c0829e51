package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// Write puts the suite into a new folder: suite.yaml, and each family as a family.yaml
// beside its toolkits. What is loaded from there has the suite's digest. Nothing is
// written outside the folder.
func (s *Suite) Write(folder string) error {
	if err := s.named(); err != nil {
		return err
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return fmt.Errorf("folder %s is not empty; name a new one", printable(folder))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // each file was written and closed
	if err := root.WriteFile(suiteFile, []byte(emit(s.header())), 0o644); err != nil {
		return err
	}
	for i := range s.Families {
		if err := writeFamily(root, &s.Families[i], coin(s.Seed, s.Families[i].ID)); err != nil {
			return fmt.Errorf("family %s: %w", printable(string(s.Families[i].ID)), err)
		}
	}
	return nil
}

// header is the suite's suite.yaml.
func (s *Suite) header() *node {
	return mapping(member{"format", number(Format)}, member{"name", word(s.Name)}, member{"version", optional(s.Version)},
		member{"description", optional(s.Description)}, member{"seed", number(s.Seed)})
}

func writeFamily(root *os.Root, f *agentbound.Family, heads int) error {
	if !slug.MatchString(string(f.ID)) {
		return errors.New("its id is no slug; accepted: lower-case letters and digits, joined by single hyphens")
	}
	doc, err := familyDocument(f, heads)
	if err != nil {
		return err
	}
	dir := path.Join(familiesDir, string(f.ID))
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := root.WriteFile(path.Join(dir, familyFile), []byte(emit(doc)), 0o644); err != nil {
		return err
	}
	for _, t := range f.Toolkits {
		if !toolkitName.MatchString(t.Name) {
			return fmt.Errorf("toolkit %s is no name of a file; accepted: a name such as records.star, without folders", quote(t.Name))
		}
		if err := root.WriteFile(path.Join(dir, t.Name), []byte(t.Text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// familyDocument is a compiled family as its author would have written it. heads is
// the coin of its suite: which of the two routine wordings CM was given.
func familyDocument(f *agentbound.Family, heads int) (*node, error) {
	task := func(s agentbound.Split) *agentbound.Task { t, _ := f.Task(s); return t }
	routine := []*node{word(task(agentbound.CM).Instruction), word(task(agentbound.EB).Instruction)}
	if heads == 1 {
		slices.Reverse(routine)
	}
	state, err := nodeOf(task(agentbound.EB).Start, pos{})
	if err != nil {
		return nil, err
	}
	facts := mapping(member{"kinds", sequence(f.Boundary.Kinds, word)})
	for _, side := range sides {
		doc, err := factsDocument(f.Boundary.Facts(side))
		if err != nil {
			return nil, err
		}
		facts.entries = append(facts.entries, entry{word(string(side)), doc})
	}
	return mapping(
		member{"format", number(Format)}, member{"id", word(string(f.ID))}, member{"archetype", word(string(f.Archetype))},
		member{"category", word(string(f.Category))}, member{"class", word(string(f.Class))}, member{"theme", word(f.Theme)},
		member{"level", mapping(member{"surface", number(f.Level.Surface)}, member{"disguise", number(f.Level.Disguise)}, member{"depth", number(f.Level.Depth)})},
		member{"patterns", mapping(member{"misuse", word(f.Patterns.Misuse)}, member{"disguise", word(f.Patterns.Disguise)},
			member{"authorisation", word(f.Patterns.Authorisation)}, member{"containment", word(f.Patterns.Containment)})},
		member{"setting", word(task(agentbound.HS).Setting)},
		member{"toolkits", sequence(f.Toolkits, func(s agentbound.Source) *node { return word(s.Name) })},
		member{"state", state},
		member{"boundary", mapping(member{"critical", word(f.Boundary.Critical)}, member{"facts", facts},
			member{"evidence", mapping(member{"kind", word(string(f.Boundary.Evidence))}, member{"calls", sequence(f.Boundary.Calls, callText)})})},
		member{"instructions", mapping(member{"confessed", word(task(agentbound.HS).Instruction)},
			member{"routine", &node{kind: list, items: routine}}, member{"alarming", word(task(agentbound.HB).Instruction)})},
		member{"completion", sequence(f.Completion, criterionDocument)},
		member{"handled", sequence(f.Handled, criterionDocument)},
		member{"forbidden", sequence(f.Forbidden, criterionDocument)},
		member{"reference", mapping(member{"workflow", sequence(f.Reference.Workflow, callText)},
			member{"containment", sequence(f.Reference.Containment, callText)}, member{"mutations", sequence(f.Reference.Mutations, callText)})},
	), nil
}

func callText(c agentbound.Call) *node { return word(star.FormatCall(c)) }

func criterionDocument(c agentbound.Criterion) *node {
	return mapping(member{"text", word(c.Text)}, member{"holds", word(c.Holds)})
}

func factsDocument(f agentbound.Facts) (*node, error) {
	doc, err := assignmentsDocument(f.Set)
	if err != nil || f.Event == nil {
		return doc, err
	}
	set, err := assignmentsDocument(f.Event.Set)
	doc.entries = append(doc.entries, mapping(member{"once", word(f.Event.Once)}, member{"set", set}).entries...)
	return doc, err
}

func assignmentsDocument(as []agentbound.Assignment) (*node, error) {
	doc := mapping()
	for _, a := range as {
		v, err := nodeOf(a.Value, pos{})
		if err != nil {
			return nil, err
		}
		doc.entries = append(doc.entries, entry{word(a.Path), v})
	}
	return doc, nil
}
