package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/classify"
	"github.com/agentbound/agentbound/metric"
)

// Shortcut is what the wording of instructions tells.
type Shortcut struct {
	Surface    Pair             `json:"surface_auc"`
	ByLevel    map[string]Pair  `json:"surface_auc_by_level"`
	Permission Pair             `json:"permission_auc"`
	Choice     Pair             `json:"forced_choice"`
	Seeds      int              `json:"seeds"`
	Folds      int              `json:"folds"`
	Words      map[string]Words `json:"words"` // of "permission" and "surface"
}

// Words are those with the largest weights in a model of all families, on each side.
type Words struct {
	Positive []Word `json:"positive"` // speak for prohibited, or for alarming
	Negative []Word `json:"negative"` // speak for authorised, or for routine
}

// Word is a word or two, with its weight and in how many texts of each kind it stands.
type Word struct {
	Word     string  `json:"word"`
	Weight   float64 `json:"weight"`
	Positive int     `json:"positive"`
	Negative int     `json:"negative"`
}

// mostWords is how many words each side shows.
const mostWords = 8

// shortcut is the audit of instructions: permission must not be told by wording, and
// surface must.
func (r *Report) shortcut(ctx context.Context, b *bench) error {
	r.Shortcut.Seeds, r.Shortcut.Folds, r.Shortcut.Words = b.opts.Seeds, b.folds(), map[string]Words{}
	if err := r.permissionFromWording(ctx, b); err != nil {
		return err
	}
	return r.surfaceFromWording(ctx, b)
}

func (r *Report) permissionFromWording(ctx context.Context, b *bench) error {
	texts, samples := b.instructions(agentbound.CM, agentbound.EB)
	e, corpus := b.texts(texts, samples, true)
	t, err := b.try(ctx, e)
	if err != nil {
		return err
	}
	auc, _ := b.auc(t, Measure{Audit: "shortcut", Name: "permission_auc", About: "permission told from the wording of CM and EB", Bound: inBand(), trial: t}, nil)
	choice := b.forced(t, Measure{Audit: "shortcut", Name: "forced_choice", About: "families in which the prohibited one of CM and EB is told by wording", Bound: inBand(), trial: t, forced: true}, nil)
	r.Measures = append(r.Measures, auc, choice)
	r.Shortcut.Permission, r.Shortcut.Choice = auc.pair(), choice.pair()
	r.Shortcut.Words["permission"], err = words(e, corpus)
	return err
}

func (r *Report) surfaceFromWording(ctx context.Context, b *bench) error {
	texts, samples := b.instructions(agentbound.HB, agentbound.CM, agentbound.EB)
	e, corpus := b.texts(texts, samples, false)
	t, err := b.try(ctx, e)
	if err != nil {
		return err
	}
	all, _ := b.auc(t, Measure{Audit: "shortcut", Name: "surface_auc", About: "alarming wording told from routine wording", Bound: least(surfaceLeast)}, nil)
	r.Measures = append(r.Measures, all)
	r.Shortcut.Surface, r.Shortcut.ByLevel = all.pair(), map[string]Pair{}
	var last *Measure
	var lastPairs *metric.Concordance
	for level := 1; level <= 3; level++ {
		m, pairs := b.auc(t, Measure{Audit: "shortcut", Name: "surface_auc", Level: fmt.Sprintf("surface %d", level),
			About: "alarming wording told from routine wording"}, func(f *agentbound.Family) bool { return f.Level.Surface == level })
		r.Measures = append(r.Measures, m)
		r.Shortcut.ByLevel[fmt.Sprint(level)] = m.pair()
		if m.Value == nil {
			continue
		}
		if last != nil {
			r.rising(b, last, &m, lastPairs, pairs)
		}
		last, lastPairs = &m, pairs
	}
	r.Shortcut.Words["surface"], err = words(e, corpus)
	return err
}

// rising: what is graded as more alarming must not be heard less well.
func (r *Report) rising(b *bench, low, high *Measure, lowPairs, highPairs *metric.Concordance) {
	delta, lo, hi, ok := metric.Difference(highPairs, lowPairs, metric.Options{Seed: b.opts.Seed, Resamples: b.opts.Resamples}, "rising"+high.Level)
	byValue := len(b.families) >= Enforced && min(low.Families, high.Families) >= EnforcedLevel
	if delta >= -surfaceFall || !byValue && (!ok || hi >= 0) {
		return
	}
	why := fmt.Sprintf("alarming wording is told less well at %s (%.3f) than at %s (%.3f)", high.Level, *high.Value, low.Level, *low.Value)
	if ok {
		why += fmt.Sprintf("; the difference is %.3f to %.3f", lo, hi)
	}
	r.Breaches = append(r.Breaches, Breach{"shortcut", "surface_auc rising, " + high.Level, &delta, fmt.Sprintf("a fall of at most %.2f", surfaceFall), why})
}

// instructions are the texts of some splits; those of the first are positive.
func (b *bench) instructions(splits ...agentbound.Split) (texts []string, samples []sample) {
	for i, f := range b.families {
		for k, s := range splits {
			texts = append(texts, task(f, s).Instruction)
			samples = append(samples, sample{i, k == 0})
		}
	}
	return texts, samples
}

// words fits a model on everything and shows what it goes by.
func words(e experiment, c *classify.Corpus) (Words, error) {
	out := Words{Positive: []Word{}, Negative: []Word{}}
	var sides [2][]int
	positive, all := make([]bool, len(e.samples)), make([]int, len(e.samples))
	for i, s := range e.samples {
		positive[i], all[i] = s.positive, i
		side := 0
		if !s.positive {
			side = 1
		}
		sides[side] = append(sides[side], i)
	}
	model, err := classify.Fit(e.rows(all), positive, all, classify.Fitting{})
	if err != nil {
		return out, err
	}
	var order []int
	for k, w := range model.Weights {
		if c.Phrase(k) && w != 0 {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(model.Weights[j], model.Weights[i]), cmp.Compare(c.Names[i], c.Names[j]))
	})
	for i, k := range order {
		w := Word{c.Names[k], model.Weights[k], c.Texts(k, sides[0]), c.Texts(k, sides[1])}
		if i < mostWords && w.Weight > 0 {
			out.Positive = append(out.Positive, w)
		}
		if i >= len(order)-mostWords && w.Weight < 0 {
			out.Negative = append(out.Negative, w)
		}
	}
	slices.Reverse(out.Negative)
	return out, nil
}
