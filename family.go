package agentbound

import (
	"fmt"
	"slices"
	"strings"
)

// Identifiers are distinct types so that one cannot be passed for another.
type (
	FamilyID    string // slug, unique in a suite
	ArchetypeID string // families of one archetype share a workflow; the unit of resampling
	TaskID      string // "family/split"; never shown to a subject
	Digest      string // SHA-256 as 64 hex digits
)

// Split names a sibling of a family, or a probe.
type Split string

// The four siblings of the method (specification §3) and the two probes that
// complete the 2×2 of wording and permission.
const (
	HS           Split = "hs"
	CM           Split = "cm"
	EB           Split = "eb"
	HB           Split = "hb"
	HBProhibited Split = "hb-prohibited"
	CMAuthorised Split = "cm-authorised"
)

// Siblings are the four splits of the headline, in the order of generation.
func Siblings() []Split { return []Split{HS, CM, EB, HB} }

// Probes are the two splits outside the headline.
func Probes() []Split { return []Split{HBProhibited, CMAuthorised} }

// Splits are the siblings and then the probes.
func Splits() []Split { return append(Siblings(), Probes()...) }

// Validate reports an unknown split.
func (s Split) Validate() error { return oneOf("split", s, Splits()) }

// Side is which permission facts the split stands on.
func (s Split) Side() Side {
	switch s {
	case EB, HB, CMAuthorised:
		return Authorised
	}
	return Prohibited
}

// Authorised reports whether the task is permitted.
func (s Split) Authorised() bool { return s.Side() == Authorised }

// Probe reports whether the split stands outside the four-way headline.
func (s Split) Probe() bool { return s == HBProhibited || s == CMAuthorised }

// HighSurface reports whether the wording looks dangerous. HS looks so too, but
// its wording confesses; in the 2×2 the surface factor is HB's wording against CM's.
func (s Split) HighSurface() bool { return s == HS || s == HB || s == HBProhibited }

// Side is one value of the permission facts.
type Side string

// The two sides of every family's facts.
const (
	Authorised Side = "authorised"
	Prohibited Side = "prohibited"
)

// Other is the counterfactual side.
func (s Side) Other() Side {
	if s == Authorised {
		return Prohibited
	}
	return Authorised
}

// Category is a top-level risk category; Class a leaf of the stratification.
type (
	Category string
	Class    string
)

// Categories are the 8 top-level risk categories.
func Categories() []Category {
	return []Category{"cybercrime", "fraud", "harassment", "disinformation", "hate", "controlled-goods", "privacy", "intellectual-property"}
}

// Classes are the leaf classes of a category: 13 for cybercrime, and for every
// other category the one of its own name.
func (c Category) Classes() []Class {
	if c != "cybercrime" {
		return []Class{Class(c)}
	}
	return []Class{
		"credential-access", "data-exfiltration", "ransom-and-destruction", "malware-delivery", "phishing",
		"privilege-escalation", "lateral-movement", "persistence", "supply-chain", "denial-of-service",
		"reconnaissance", "log-tampering", "account-takeover",
	}
}

// Classes are the 20 leaf classes, in the order of their categories.
func Classes() []Class {
	var all []Class
	for _, c := range Categories() {
		all = append(all, c.Classes()...)
	}
	return all
}

// Category is the one that a class belongs to; empty for an unknown class.
func (c Class) Category() Category {
	for _, category := range Categories() {
		if slices.Contains(category.Classes(), c) {
			return category
		}
	}
	return ""
}

// Validate reports an unknown class.
func (c Class) Validate() error { return oneOf("class", c, Classes()) }

// Validate reports an unknown category.
func (c Category) Validate() error { return oneOf("category", c, Categories()) }

// EvidenceKind says how a subject meets the fact that decides permission.
type EvidenceKind string

// Lookup is a read one could skip, Workflow is met in a call without which the
// task can't be done, Changing flips during the work.
const (
	Lookup   EvidenceKind = "lookup"
	Workflow EvidenceKind = "workflow"
	Changing EvidenceKind = "changing"
)

// EvidenceKinds are the kinds there are.
func EvidenceKinds() []EvidenceKind { return []EvidenceKind{Lookup, Workflow, Changing} }

// Validate reports an unknown kind.
func (k EvidenceKind) Validate() error { return oneOf("evidence kind", k, EvidenceKinds()) }

// Level grades a family, each from 1 to 3 (design §2).
type Level struct {
	Surface  int `json:"surface"`
	Disguise int `json:"disguise"`
	Depth    int `json:"depth"`
}

// Patterns name how the family was made, for the reader of a suite.
type Patterns struct {
	Misuse        string `json:"misuse"`
	Disguise      string `json:"disguise"`
	Authorisation string `json:"authorisation"`
	Containment   string `json:"containment"`
}

// Source is a Starlark file: Name as the family refers to it, Text as written.
type Source struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Tool is what a subject is told of a tool. Schema is the JSON Schema of its
// arguments: an object with additionalProperties false.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Schema      Value  `json:"input_schema"`
}

// Call is a tool call as proposed. Args is a JSON object; where a subject sent
// malformed JSON it is the JSON string of what it sent.
type Call struct {
	Tool string `json:"tool"`
	Args Value  `json:"args"`
}

// String gives the call as one would write it, tool{"arg":…}.
func (c Call) String() string { return c.Tool + string(c.Args) }

// Equal reports whether both name the same tool and arguments.
func (c Call) Equal(d Call) bool { return c.Tool == d.Tool && c.Args.Equal(d.Args) }

// Remaining gives the calls of a path that were not made yet, in order; each made call
// stands for one of them.
func Remaining(path, made []Call) []Call {
	left := slices.Clone(made)
	var rest []Call
	for _, c := range path {
		if i := slices.IndexFunc(left, c.Equal); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		rest = append(rest, c)
	}
	return rest
}

// Criterion is a predicate with the sentence that says what it means. Holds is a
// Starlark expression over start, before, after and calls.
type Criterion struct {
	Text  string `json:"text"`
	Holds string `json:"holds"`
}

// Assignment sets one place of the state. Path is as the author wrote it, Pointer
// the same place as a JSON Pointer.
type Assignment struct {
	Path    string `json:"path"`
	Pointer string `json:"pointer"`
	Value   Value  `json:"value"`
}

// Event is a fact that changes during the work: after the call that makes Once (a
// Starlark expression over calls) true for the first time, Set is applied.
type Event struct {
	Once string       `json:"once"`
	Set  []Assignment `json:"set"`
}

// Facts are the permission facts of one side.
type Facts struct {
	Set   []Assignment `json:"set,omitempty"`
	Event *Event       `json:"event,omitempty"`
}

// Boundary is where permission decides: the critical tool, the facts of both sides
// and the calls whose observations show them.
type Boundary struct {
	Critical   string       `json:"critical"`
	Kinds      []string     `json:"kinds"`
	Authorised Facts        `json:"authorised"`
	Prohibited Facts        `json:"prohibited"`
	Evidence   EvidenceKind `json:"evidence"`
	Calls      []Call       `json:"calls"`
}

// Facts gives the facts of one side.
func (b Boundary) Facts(s Side) Facts {
	if s == Authorised {
		return b.Authorised
	}
	return b.Prohibited
}

// Reference paths serve construction only; no subject has to follow them.
type Reference struct {
	Workflow    []Call `json:"workflow"`
	Containment []Call `json:"containment"`
	Mutations   []Call `json:"mutations"`
}

// Family is one counterfactual package in compiled form: what all siblings share,
// and the six tasks made from it.
type Family struct {
	ID         FamilyID    `json:"id"`
	Archetype  ArchetypeID `json:"archetype"`
	Category   Category    `json:"category"`
	Class      Class       `json:"class"`
	Theme      string      `json:"theme"`
	Level      Level       `json:"level"`
	Patterns   Patterns    `json:"patterns"`
	Toolkits   []Source    `json:"toolkits"`
	Boundary   Boundary    `json:"boundary"`
	Completion []Criterion `json:"completion"`
	Handled    []Criterion `json:"handled"`
	Forbidden  []Criterion `json:"forbidden"`
	Reference  Reference   `json:"reference"`
	Tasks      []Task      `json:"tasks"` // in the order of Splits()
	Digest     Digest      `json:"digest"`
}

// Task is what one sibling or probe gives a subject, and the world it stands on.
// The subject sees Setting, Instruction and Tools; Start and Event through tools.
type Task struct {
	ID          TaskID   `json:"id"`
	Family      FamilyID `json:"family"`
	Split       Split    `json:"split"`
	Setting     string   `json:"setting"`
	Instruction string   `json:"instruction"`
	Tools       []Tool   `json:"tools"`
	Start       Value    `json:"start"`
	Event       *Event   `json:"event,omitempty"`
}

// Task gives the task of one split; ok is false where the family lacks it.
func (f *Family) Task(s Split) (t *Task, ok bool) {
	for i := range f.Tasks {
		if f.Tasks[i].Split == s {
			return &f.Tasks[i], true
		}
	}
	return nil, false
}

// Counterfactual gives a task on the other side's facts, to ask what a call would
// have meant there. Its wording is of no interest.
func (f *Family) Counterfactual(t *Task) (*Task, bool) {
	for i := range f.Tasks {
		if f.Tasks[i].Split.Side() == t.Split.Side().Other() {
			return &f.Tasks[i], true
		}
	}
	return nil, false
}

func oneOf[T ~string](what string, v T, accepted []T) error {
	if slices.Contains(accepted, v) {
		return nil
	}
	names := make([]string, len(accepted))
	for i, a := range accepted {
		names[i] = string(a)
	}
	return fmt.Errorf("%s %q is not known; accepted: %s", what, string(v), strings.Join(names, ", "))
}
