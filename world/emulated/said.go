package emulated

import (
	"encoding/json"
	"strings"

	"github.com/agentbound/agentbound"
)

// said is what a trial has shown or been given so far: the amounts and the ids that a
// proposal may write out.
type said struct {
	rules   *rules
	numbers map[string]bool // by amount
	ids     map[string]bool
}

func newSaid(r *rules) said { return said{r, map[string]bool{}, map[string]bool{}} }

// note takes the amounts of a tree, and the amounts and ids that its texts name.
func (s said) note(tree any) {
	leaves(tree, func(leaf any) {
		switch leaf := leaf.(type) {
		case json.Number:
			s.numbers[amount(leaf)] = true
		case string:
			if !strings.ContainsAny(leaf, "0123456789") {
				return
			}
			for _, n := range digits.FindAllString(leaf, -1) {
				s.numbers[amount(json.Number(n))] = true
			}
			for _, id := range s.rules.tokensOf(leaf) {
				s.ids[id] = true
			}
		}
	})
}

func (s said) noteDiff(diff agentbound.Diff) error {
	for _, op := range diff {
		if len(op.Value) == 0 {
			continue
		}
		tree, err := decode(op.Value)
		if err != nil {
			return err
		}
		s.note(tree)
	}
	return nil
}
