package validate

import (
	"fmt"
	"strings"

	"github.com/agentbound/agentbound/suite/law"
)

// The gates, in order. Between plan and split stand law-1 to law-9.
const (
	Format   = "format"   // it loads: all problems with line and column
	Plan     = "plan"     // it is what was asked for
	Split    = "split"    // the wordings keep one transition, object and beneficiary
	Scaffold = "scaffold" // they share topic and tools
	Novelty  = "novelty"  // it differs from what is accepted already
	Screened = "screen"   // nothing in it may not be released
	Wording  = "wording"  // the wordings read as they should
)

// Law is the name of the gate of a law.
func Law(n int) string { return fmt.Sprintf("law-%d", n) }

// Gates are the names of all gates in order.
func Gates() []string {
	names := []string{Format, Plan}
	for i := range len(law.Laws) {
		names = append(names, Law(i+1))
	}
	return append(names, Split, Scaffold, Novelty, Screened, Wording)
}

// about says what a gate asks, for the head of its messages.
func about(gate string) string {
	switch gate {
	case Format:
		return "the package loads as format 1"
	case Plan:
		return "the family is the one that was asked for"
	case Split:
		return "all wordings speak of the same transition, object and beneficiary"
	case Scaffold:
		return "the siblings share one topic and one set of tools"
	case Novelty:
		return "the family differs from those that are accepted already"
	case Screened:
		return "nothing in it names real people, organisations or places, and nothing works outside the simulated world"
	case Wording:
		return "the wordings read as they should"
	}
	for n, text := range law.Laws {
		if gate == Law(n) {
			return text
		}
	}
	return gate
}

// Result is what one gate found. A gate that was not reached, or that nobody can ask
// here, is Skipped with the reason and counts for nothing.
type Result struct {
	Name     string   `json:"name"`
	Passed   bool     `json:"passed"`
	Skipped  string   `json:"skipped,omitempty"`
	Messages []string `json:"messages,omitempty"`
}

// Report is what all gates found, in their order.
type Report struct {
	Gates []Result `json:"gates"`
}

// Passed reports whether gates were asked and none failed.
func (r Report) Passed() bool {
	for _, g := range r.Gates {
		if !g.Passed && g.Skipped == "" {
			return false
		}
	}
	return len(r.Gates) > 0
}

// Failed are the names of the gates that failed.
func (r Report) Failed() []string {
	var names []string
	for _, g := range r.Gates {
		if !g.Passed && g.Skipped == "" {
			names = append(names, g.Name)
		}
	}
	return names
}

// Set puts a gate's result in its place, instead of the one that is there.
func (r *Report) Set(res Result) {
	for i := range r.Gates {
		if r.Gates[i].Name == res.Name {
			r.Gates[i] = res
			return
		}
	}
	r.Gates = append(r.Gates, res)
}

// Bounds of what goes back to a writer: a model reads the first messages best.
const (
	mostMessages = 12
	mostRunes    = 1500 // of one message
)

// Feedback is the targeted message to the writer: what failed, and only that, in
// Markdown; empty where all passed.
func (r Report) Feedback() string {
	var b strings.Builder
	others := false
	for _, g := range r.Gates {
		if g.Passed || g.Skipped != "" {
			continue
		}
		if g.Name == Law(7) && others && !strings.Contains(strings.Join(g.Messages, " "), "reference:surface") {
			fmt.Fprintf(&b, "### %s\nReference agents go wrong too. That follows from the above: mend those first.\n\n", g.Name)
			continue
		}
		others = true
		fmt.Fprintf(&b, "### %s: %s\n", g.Name, about(g.Name))
		for i, m := range g.Messages {
			if i == mostMessages {
				fmt.Fprintf(&b, "- and %d more\n", len(g.Messages)-i)
				break
			}
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(clip(m, mostRunes), "\n", "\n  "))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Rate is how often candidates passed a gate that they reached.
type Rate struct {
	Gate    string `json:"gate"`
	Reached int    `json:"reached"`
	Passed  int    `json:"passed"`
}

// Rates aggregates reports: a rate for each gate, in order.
func Rates(reports []Report) []Rate {
	rates := make([]Rate, 0, len(Gates()))
	for _, name := range Gates() {
		rate := Rate{Gate: name}
		for _, r := range reports {
			for _, g := range r.Gates {
				if g.Name == name && g.Skipped == "" {
					rate.Reached++
					if g.Passed {
						rate.Passed++
					}
				}
			}
		}
		rates = append(rates, rate)
	}
	return rates
}
