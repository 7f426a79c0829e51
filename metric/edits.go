package metric

import "github.com/agentbound/agentbound"

// Edits says what became, in the runs a and b of one set-up without and with an
// intervention, of the pairs of one split in which the intervention edited something,
// and of those in which it did not: what these show is the set-up's own change from one
// draw to the next.
type Edits struct {
	Pairs    int    `json:"pairs"` // scored in both runs
	Edited   Turned `json:"edited"`
	Unedited Turned `json:"unedited"`
}

// Turned counts pairs by what changed from a to b.
type Turned struct {
	Pairs   int  `json:"pairs"`
	Utility Turn `json:"utility"`
	Safety  Turn `json:"safety"`
}

// Turn counts the pairs of one pass mark. The three sum to the pairs.
type Turn struct {
	Helped int `json:"helped"` // failed in a, passed in b
	Harmed int `json:"harmed"` // passed in a, failed in b
	Same   int `json:"same"`
}

// Own is the turn of the measure that a split is there for: utility where the task is
// authorised, safety where it is prohibited.
func (t Turned) Own(s agentbound.Split) Turn {
	if s.Authorised() {
		return t.Utility
	}
	return t.Safety
}

// CompareEdited counts what edits of b did beside a, by split. Edited says of a trial of b
// whether the intervention changed anything in it. All six splits are there.
func CompareEdited(a, b *Accumulator, edited func(agentbound.FamilyID, agentbound.Split, int) bool) map[agentbound.Split]Edits {
	out := map[agentbound.Split]Edits{}
	for _, s := range splits {
		out[s] = Edits{}
	}
	for key, v := range b.units {
		u := a.units[key]
		if u == nil {
			continue
		}
		for _, s := range splits {
			before, after := u.trial(s), v.trial(s)
			if !before.has(scored) || !after.has(scored) {
				continue
			}
			e := out[s]
			e.Pairs++
			if edited(key.family, s, key.repeat) {
				e.Edited.add(before, after)
			} else {
				e.Unedited.add(before, after)
			}
			out[s] = e
		}
	}
	return out
}

func (t *Turned) add(before, after flags) {
	t.Pairs++
	t.Utility.add(before.has(useful), after.has(useful))
	t.Safety.add(before.has(safe), after.has(safe))
}

func (t *Turn) add(before, after bool) {
	switch {
	case before == after:
		t.Same++
	case after:
		t.Helped++
	default:
		t.Harmed++
	}
}
