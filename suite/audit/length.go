package audit

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
)

// Length is what lengths alone tell.
type Length struct {
	Permission Pair            `json:"permission_auc"` // from the lengths of CM's and EB's instructions
	Choice     Pair            `json:"forced_choice"`
	Surface    Pair            `json:"surface_auc"`  // reported
	Siblings   Pair            `json:"siblings_auc"` // permission from all four instructions; reported
	ByDepth    map[string]Pair `json:"auc_by_depth"` // permission from the lengths of the observations before the critical call
	Seen       Pair            `json:"observations_forced_choice"`
	Path       Pair            `json:"path_auc"` // workflow told from containment by its number of calls; reported
}

// length is the audit of lengths: of instructions, observations and paths.
func (r *Report) length(ctx context.Context, b *bench) error {
	for _, audit := range []func(context.Context, *bench) error{r.instructionLength, r.observationLength, r.pathLength} {
		if err := audit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) instructionLength(ctx context.Context, b *bench) error {
	t, err := b.try(ctx, b.measured(true, []agentbound.Split{agentbound.CM}, []agentbound.Split{agentbound.EB}))
	if err != nil {
		return err
	}
	auc, _ := b.auc(t, Measure{Audit: "length", Name: "permission_auc", About: "permission told from the lengths of CM's and EB's instructions", Bound: inBand(), trial: t}, nil)
	choice := b.forced(t, Measure{Audit: "length", Name: "forced_choice", About: "families in which the prohibited one of CM and EB is told by length", Bound: inBand(), trial: t, forced: true}, nil)
	surface, err := b.try(ctx, b.measured(false, []agentbound.Split{agentbound.HB}, []agentbound.Split{agentbound.CM, agentbound.EB}))
	if err != nil {
		return err
	}
	loud, _ := b.auc(surface, Measure{Audit: "length", Name: "surface_auc", About: "alarming wording told from routine wording by length"}, nil)
	siblings, err := b.try(ctx, b.measured(false, []agentbound.Split{agentbound.HS, agentbound.CM}, []agentbound.Split{agentbound.EB, agentbound.HB}))
	if err != nil {
		return err
	}
	all, _ := b.auc(siblings, Measure{Audit: "length", Name: "siblings_auc", About: "permission told from the lengths of all four instructions"}, nil)
	r.Measures = append(r.Measures, auc, choice, loud, all)
	r.Length.Permission, r.Length.Choice, r.Length.Surface, r.Length.Siblings = auc.pair(), choice.pair(), loud.pair(), all.pair()
	return nil
}

// measured is an experiment on the lengths of instructions.
func (b *bench) measured(paired bool, positive, negative []agentbound.Split) experiment {
	var rows [][]float64
	var samples []sample
	for i, f := range b.families {
		for k, splits := range [][]agentbound.Split{positive, negative} {
			for _, s := range splits {
				rows, samples = append(rows, lengths(task(f, s).Instruction)), append(samples, sample{i, k == 0})
			}
		}
	}
	return numbers(rows, samples, paired)
}

// lengths are a text's numbers of words, characters and sentences.
func lengths(text string) []float64 {
	return []float64{float64(len(strings.Fields(text))), float64(utf8.RuneCountInString(text)), float64(sentences(text))}
}

// sentences counts the ends of sentences: a full stop, question or exclamation mark
// before white space or the end; a text without one is one sentence.
func sentences(text string) int {
	n := 0
	words := strings.Fields(text)
	for i, w := range words {
		w = strings.TrimRight(w, `"'”’)`)
		if strings.HasSuffix(w, ".") || strings.HasSuffix(w, "?") || strings.HasSuffix(w, "!") || i == len(words)-1 {
			n++
		}
	}
	return n
}

func (r *Report) observationLength(ctx context.Context, b *bench) error {
	var rows [][]float64
	var samples []sample
	for i := range b.families {
		if b.walks[i].fault != "" {
			continue
		}
		for side, seen := range b.walks[i].sides() {
			text := prose(seen...)
			rows = append(rows, []float64{float64(len(strings.Fields(text))), float64(utf8.RuneCountInString(text))})
			samples = append(samples, sample{i, side == 0})
		}
	}
	t, err := b.try(ctx, numbers(rows, samples, true))
	if err != nil {
		return err
	}
	r.Length.ByDepth = r.depthAUC(b, t, Measure{Audit: "length", Name: "observations_auc", About: "permission told from the length of the observations before the critical call"})
	choice := b.forced(t, Measure{Audit: "length", Name: "observations_forced_choice", Level: "depth 2-3", About: "families in which the prohibited side is told by the length of its observations"},
		func(f *agentbound.Family) bool { return f.Level.Depth > 1 })
	r.Measures = append(r.Measures, choice)
	r.Length.Seen = choice.pair()
	if choice.CI95 != nil && choice.CI95[0] > 0.5+band {
		r.note("In %.0f %% of the families of depth 2 and 3 the prohibited side is told by the length of its observations, if one has both to compare (a subject has one): let facts be of like length.", 100**choice.Value)
	}
	return nil
}

// pathLength: both paths are for construction and no subject sees them, but a suite in
// which right handling is always the short way would reward stopping early.
func (r *Report) pathLength(ctx context.Context, b *bench) error {
	var rows [][]float64
	var samples []sample
	for i, f := range b.families {
		rows = append(rows, []float64{float64(len(f.Reference.Containment))}, []float64{float64(len(f.Reference.Workflow))})
		samples = append(samples, sample{i, true}, sample{i, false})
	}
	t, err := b.try(ctx, numbers(rows, samples, false))
	if err != nil {
		return err
	}
	m, _ := b.auc(t, Measure{Audit: "length", Name: "path_auc", About: "containment told from workflow by its number of calls"}, nil)
	r.Measures = append(r.Measures, m)
	r.Length.Path = m.pair()
	return nil
}
