package seed

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentbound/agentbound"
)

// Format is what a source file looks like.
type Format string

// The formats that are read.
const (
	AgentHarm Format = "agentharm"
	ToolEmu   Format = "toolemu"
	Text      Format = "text"
)

// Formats are the formats that are read.
func Formats() []Format { return []Format{AgentHarm, ToolEmu, Text} }

// Validate reports an unknown format.
func (f Format) Validate() error {
	for _, known := range Formats() {
		if f == known {
			return nil
		}
	}
	return fmt.Errorf("format %q is not known; accepted: %s, %s, %s", string(f), AgentHarm, ToolEmu, Text)
}

// Screen says why a text must not be used; nothing where it may. An error is
// infrastructure.
type Screen func(ctx context.Context, text string) (blocked []string, err error)

// Options decide how files are imported.
type Options struct {
	From           Format           // empty: told by the content
	Class          agentbound.Class // of every seed; empty: mapped
	EvaluationOnly bool             // take what carries a canary, marked never to be trained on
	Screen         Screen           // nil: seeds are marked unscreened
}

// File is a file to import.
type File struct {
	Name string
	Data []byte
}

// Reason is why a row became no seed.
type Reason string

// The reasons.
const (
	Duplicate Reason = "duplicate"
	Variant   Reason = "variant" // of a behaviour that is there
	Unmapped  Reason = "unmapped"
	Blocked   Reason = "blocked"
	Canary    Reason = "canary"
	Invalid   Reason = "invalid"
)

// Left is a row that became no seed.
type Left struct {
	Source Source `json:"source"`
	Reason Reason `json:"reason"`
	Why    string `json:"why"`
}

// Result is what an import came to.
type Result struct {
	Seeds []Seed `json:"seeds"`
	Left  []Left `json:"left"`
}

// row is an entry of a source, as its format gave it.
type row struct {
	source   Source
	text     string
	category string // the source's own; empty: none
	tools    []string
	outcomes []string
	original string // rows with the same one are variants
	plainer  int    // of variants the lowest is taken
	canary   string
	problem  string // why it cannot be used at all
	never    bool   // not to be trained on, canary or not
}

// CanaryError is a file that says it must not be used for training.
type CanaryError struct{ File, Canary string }

func (e *CanaryError) Error() string {
	return fmt.Sprintf("%s carries a canary (%s): its makers ask that it is used for evaluation only, never for training; with --evaluation-only its seeds are taken and marked train: never", e.File, e.Canary)
}

// Import reads files and makes seeds of them. An error is about a file as a whole; what
// is wrong with a row is in the result.
func Import(ctx context.Context, files []File, o Options) (Result, error) {
	if o.Class != "" {
		if err := o.Class.Validate(); err != nil {
			return Result{}, err
		}
	}
	read, err := readAll(files, o)
	if err != nil {
		return Result{}, err
	}
	res := Result{Seeds: []Seed{}, Left: []Left{}}
	seen, taken := map[string]Source{}, variants(read)
	for i, r := range read {
		s, reason, why, err := accept(ctx, r, o)
		if err != nil {
			return Result{}, err
		}
		if reason == "" {
			if first, twice := seen[s.ID]; twice {
				reason, why = Duplicate, fmt.Sprintf("the same text as %s:%d", first.File, first.Index)
			} else if j := taken[variantKey(r)]; variantKey(r) != "" && j != i {
				reason, why = Variant, fmt.Sprintf("a variant of %s, which stands for it", read[j].source.Name)
			}
		}
		if reason != "" {
			res.Left = append(res.Left, Left{r.source, reason, why})
			continue
		}
		seen[s.ID] = s.Source
		res.Seeds = append(res.Seeds, s)
	}
	return res, nil
}

func variantKey(r row) string {
	if r.original == "" {
		return ""
	}
	return r.source.File + "\x00" + r.original
}

// variants gives, for each behaviour, the index of the row that stands for it.
func variants(rows []row) map[string]int {
	best := map[string]int{}
	for i, r := range rows {
		key := variantKey(r)
		if key == "" || r.problem != "" {
			continue
		}
		if j, ok := best[key]; !ok || r.plainer < rows[j].plainer {
			best[key] = i
		}
	}
	return best
}

// accept makes a seed of a row, or says why not.
func accept(ctx context.Context, r row, o Options) (s Seed, reason Reason, why string, err error) {
	if r.problem != "" {
		return s, Invalid, r.problem, nil
	}
	if r.canary != "" && !o.EvaluationOnly {
		return s, Canary, fmt.Sprintf("it carries a canary (%s); --evaluation-only takes it, marked train: never", r.canary), nil
	}
	class, mapped := o.Class, "named by --class"
	if class == "" {
		class, mapped = classify(r)
	}
	if class == "" {
		return s, Unmapped, mapped + "; name the class with --class, or leave the row out", nil
	}
	s = Seed{
		Version: Version, ID: id(r.text), Source: r.source, Class: class, Why: mapped, Text: strings.TrimSpace(r.text),
		Tools: orEmpty(r.tools), Outcomes: orEmpty(r.outcomes), Screened: Unscreened,
	}
	if r.never || r.canary != "" {
		s.Train = Never
	}
	if o.Screen == nil {
		return s, "", "", nil
	}
	blocked, err := o.Screen(ctx, strings.Join(append([]string{s.Text}, s.Outcomes...), "\n"))
	if err != nil {
		return s, "", "", fmt.Errorf("screening %s:%d: %w", r.source.File, r.source.Index, err)
	}
	if len(blocked) > 0 {
		return s, Blocked, strings.Join(blocked, "; "), nil
	}
	s.Screened = Clean
	return s, "", "", nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
