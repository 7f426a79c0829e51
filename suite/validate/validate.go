package validate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/law"
)

// Finding is something in a family that screening objects to.
type Finding struct {
	Where  string // such as "task hb instruction"
	Kind   string // such as "domain"
	Found  string // what it is, secrets not in full
	Remedy string
	Block  bool // never to be released; otherwise a person must look, and the gate passes
}

// Screen is the port to screening: all that a subject or reader of a suite could see.
// An error is infrastructure.
type Screen func(ctx context.Context, s *suite.Suite) ([]Finding, error)

// Wanted is what a candidate was asked to be. Zero fields ask for nothing.
type Wanted struct {
	Class    agentbound.Class
	Evidence agentbound.EvidenceKind
	Level    agentbound.Level
	Seed     string // the text it was made after, which no wording may repeat
}

// Validator holds candidates against the gates.
type Validator struct {
	Screen Screen // nil: the gate is skipped
	Index  *Index // what is accepted; nil: the gate is skipped
}

// Check validates the family at the root of a folder, family.yaml and its toolkits.
// The family is nil where it does not load. An error is infrastructure or ctx's;
// whatever is wrong with the candidate stands in the report.
func (v Validator) Check(ctx context.Context, files fs.FS, want Wanted) (Report, *agentbound.Family, error) {
	s, err := suite.Load(files, ".")
	var problems suite.Problems
	switch {
	case errors.As(err, &problems):
		return unloaded(problems), nil, nil
	case err != nil:
		return Report{}, nil, fmt.Errorf("the candidate cannot be read: %w", err)
	case len(s.Families) != 1:
		return unloaded(suite.Problems{{File: "family.yaml", Message: "missing; the package is one family"}}), nil, nil
	}
	f := &s.Families[0]
	r := Report{Gates: []Result{result(Format, nil), result(Plan, planned(f, want))}}
	laws, err := proved(ctx, f)
	if err != nil {
		return Report{}, nil, err
	}
	r.Gates = append(r.Gates, laws...)
	r.Gates = append(r.Gates, result(Split, splitSemantics(f)), result(Scaffold, scaffold(f)), v.Novel(f, want.Seed))
	screened, err := v.screened(ctx, s)
	if err != nil {
		return Report{}, nil, err
	}
	r.Gates = append(r.Gates, screened, result(Wording, wording(f)))
	return r, f, nil
}

func result(name string, messages []string) Result {
	return Result{Name: name, Passed: len(messages) == 0, Messages: messages}
}

func skipped(name, why string) Result { return Result{Name: name, Skipped: why} }

// Unreadable is the report on an answer that holds no package to load: why, and that no
// other gate was reached.
func Unreadable(messages ...string) Report {
	r := Report{}
	for _, name := range Gates() {
		r.Gates = append(r.Gates, skipped(name, "the package did not load"))
	}
	r.Gates[0] = result(Format, messages)
	return r
}

func unloaded(problems suite.Problems) Report {
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = p.Error()
	}
	return Unreadable(messages...)
}

// planned compares with what was asked for.
func planned(f *agentbound.Family, want Wanted) (messages []string) {
	say := func(what, got, wanted any) {
		messages = append(messages, fmt.Sprintf("family.yaml: %s is %v, and %v was asked for", what, got, wanted))
	}
	if want.Class != "" && f.Class != want.Class {
		say("class", f.Class, want.Class)
	}
	if want.Evidence != "" && f.Boundary.Evidence != want.Evidence {
		say("boundary.evidence.kind", f.Boundary.Evidence, want.Evidence)
	}
	for _, l := range []struct {
		name        string
		got, wanted int
	}{{"surface", f.Level.Surface, want.Level.Surface}, {"disguise", f.Level.Disguise, want.Level.Disguise}, {"depth", f.Level.Depth, want.Level.Depth}} {
		if l.wanted != 0 && l.got != l.wanted {
			say("level."+l.name, l.got, l.wanted)
		}
	}
	return messages
}

// proved gives the gates of the nine laws. All are reached: what loads has had its
// workflow walked by the loader.
func proved(ctx context.Context, f *agentbound.Family) ([]Result, error) {
	r, err := law.Check(ctx, []agentbound.Family{*f})
	if err != nil {
		return nil, err
	}
	found := make([][]string, len(law.Laws)+1)
	for _, b := range r.Breaches {
		found[b.Law] = append(found[b.Law], breach(b))
	}
	gates := make([]Result, 0, len(law.Laws))
	for n := 1; n <= len(law.Laws); n++ {
		gates = append(gates, result(Law(n), found[n]))
	}
	return gates, nil
}

// breach writes a breach with its calls and what the last one changed.
func breach(b law.Breach) string {
	var s strings.Builder
	fmt.Fprintf(&s, "sibling %s: %s", b.Sibling, b.Why)
	for i, c := range b.Calls {
		fmt.Fprintf(&s, "\n%2d. %s", i+1, c)
	}
	const mostOps = 6
	for i, op := range b.Diff {
		if i == mostOps {
			fmt.Fprintf(&s, "\n    and %d more changes", len(b.Diff)-i)
			break
		}
		fmt.Fprintf(&s, "\n    changes %s %s %s", op.Op, op.Path, clip(op.Value.String(), 120))
	}
	return s.String()
}

func (v Validator) screened(ctx context.Context, s *suite.Suite) (Result, error) {
	if v.Screen == nil {
		return skipped(Screened, "no screening is set up"), nil
	}
	findings, err := v.Screen(ctx, s)
	if err != nil {
		return Result{}, fmt.Errorf("screening: %w", err)
	}
	r := Result{Name: Screened, Passed: true}
	for _, f := range findings {
		if !f.Block {
			r.Messages = append(r.Messages, "for a person to look at: "+finding(f))
			continue
		}
		r.Passed = false
	}
	if r.Passed {
		return r, nil
	}
	r.Messages = nil // the writer is told what blocks
	for _, f := range findings {
		if f.Block {
			r.Messages = append(r.Messages, finding(f))
		}
	}
	return r, nil
}

func finding(f Finding) string {
	s := fmt.Sprintf("%s: %s %q", f.Where, f.Kind, f.Found)
	if f.Remedy != "" {
		s += "; " + f.Remedy
	}
	return s
}
