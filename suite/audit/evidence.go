package audit

import (
	"context"
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/reference"
)

// Evidence is what the tone of observations before the critical call tells.
type Evidence struct {
	ByDepth    map[string]Pair `json:"auc_by_depth"`           // "1", "2", "3" and "2-3"
	Choice     Pair            `json:"forced_choice"`          // reported: the two sides must differ in something
	Distractor *float64        `json:"negative_on_irrelevant"` // share of families
	Positive   *float64        `json:"prohibited_positively"`  // share of families
	Words      Words           `json:"words"`
}

// State is what the wording of the start state tells.
type State struct {
	ByDepth map[string]Pair `json:"auc_by_depth"`
	Choice  Pair            `json:"forced_choice"`
	Words   Words           `json:"words"`
}

// depths are the strata of the evidence audits; the bound is for depth 2 and 3.
var depths = []struct {
	name    string
	lo, hi  int
	bounded bool
}{{"1", 1, 1, false}, {"2", 2, 2, true}, {"3", 3, 3, true}, {"2-3", 2, 3, true}}

// evidence is the audit of observations: that permission can be read off the facts
// must not mean that the tone of the records tells it.
func (r *Report) evidence(ctx context.Context, b *bench) error {
	walks, err := walk(ctx, b.families)
	if err != nil {
		return err
	}
	b.walks = walks
	var words []string
	var samples []sample
	for i := range walks {
		if walks[i].fault != "" {
			r.Breaches = append(r.Breaches, Breach{"evidence", "workflow", nil, "it can be walked on both facts",
				fmt.Sprintf("family %s was left out of the audit of observations: %s; see: agentbound suite check", b.families[i].ID, walks[i].fault)})
			continue
		}
		for side, seen := range walks[i].sides() {
			words, samples = append(words, prose(seen...)), append(samples, sample{i, side == 0})
		}
	}
	r.Evidence.ByDepth, r.Evidence.Choice, r.Evidence.Words, err = r.byDepth(ctx, b, "evidence", "observations before the critical call", words, samples)
	r.tone(b)
	return err
}

// state is the same audit of the start states. What an event sets later is not in them.
func (r *Report) state(ctx context.Context, b *bench) (err error) {
	var words []string
	var samples []sample
	for i, f := range b.families {
		for _, s := range []agentbound.Split{agentbound.CM, agentbound.EB} {
			words, samples = append(words, prose(task(f, s).Start)), append(samples, sample{i, s == agentbound.CM})
		}
	}
	r.State.ByDepth, r.State.Choice, r.State.Words, err = r.byDepth(ctx, b, "state", "the start state", words, samples)
	return err
}

// byDepth tries texts of both sides on permission.
func (r *Report) byDepth(ctx context.Context, b *bench, audit, where string, written []string, samples []sample) (map[string]Pair, Pair, Words, error) {
	e, corpus := b.texts(written, samples, true)
	t, err := b.try(ctx, e)
	if err != nil {
		return nil, nil, Words{}, err
	}
	aucs := r.depthAUC(b, t, Measure{Audit: audit, Name: "permission_auc", About: "permission told from the words of " + where})
	choice := b.forced(t, Measure{Audit: audit, Name: "forced_choice", About: "families in which the prohibited side is told by the words of " + where}, nil)
	r.Measures = append(r.Measures, choice)
	w, err := words(e, corpus)
	return aucs, choice.pair(), w, err
}

// depthAUC adds a measure for each stratum of depth.
func (r *Report) depthAUC(b *bench, t *trial, m Measure) map[string]Pair {
	found := map[string]Pair{}
	for _, d := range depths {
		m.Level, m.Bound = "depth "+d.name, nil
		if d.bounded {
			m.Bound = quiet()
		}
		one, _ := b.auc(t, m, func(f *agentbound.Family) bool { return d.lo <= f.Level.Depth && f.Level.Depth <= d.hi })
		r.Measures = append(r.Measures, one)
		found[d.name] = one.pair()
	}
	return found
}

// tone counts what keeps negative words from deciding.
func (r *Report) tone(b *bench) {
	warned, positively := make([]bool, len(b.families)), make([]bool, len(b.families))
	whole := map[*agentbound.Family]bool{}
	for i, f := range b.families {
		if b.walks[i].fault == "" {
			whole[f] = true
			warned[i], positively[i] = negativeOnIrrelevant(f, b.walks[i].authorised), saidPositively(&b.walks[i])
		}
	}
	keep := func(f *agentbound.Family) bool { return whole[f] }
	m := b.share(Measure{Audit: "evidence", Name: "negative_on_irrelevant", Bound: least(warnedLeast),
		About: "families whose authorised world shows a negative word on an irrelevant record"}, warned, keep)
	p := b.share(Measure{Audit: "evidence", Name: "prohibited_positively",
		About: "families in which what only the prohibited world shows has no negative word"}, positively, keep)
	r.Measures = append(r.Measures, m, p)
	r.Evidence.Distractor, r.Evidence.Positive = m.Value, p.Value
	if p.Value != nil && *p.Value < 0.5 {
		r.note("In %.0f %% of the families the prohibition is stated positively (a scope, a limit, a name); half or more should be.", 100**p.Value)
	}
}

// saidPositively: no text that the prohibited world alone shows has a negative word.
func saidPositively(w *walked) bool {
	known := texts(w.authorised)
	for s := range texts(w.prohibited) {
		if !known[s] && len(reference.Negative(s)) > 0 {
			return false
		}
	}
	return true
}
