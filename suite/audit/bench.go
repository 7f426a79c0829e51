package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/classify"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/metric"
)

// mostFolds is the number of folds where there are as many archetypes.
const mostFolds = 5

// bench tries classifiers on families: for each seed, archetypes are shared out over
// folds, and every fold is scored by a model that was fitted on the others.
type bench struct {
	opts      Options
	families  []*agentbound.Family
	names     []string // of the archetypes
	archetype []int    // of each family
	foldOf    [][]int  // seed × archetype
	walks     []walked // of each family; the audit of evidence makes them
}

func newBench(families []*agentbound.Family, o Options) *bench {
	b := &bench{opts: o, families: families}
	index := map[string]int{}
	var sizes []int
	for _, f := range families {
		name := archetypeOf(f)
		k, known := index[name]
		if !known {
			k = len(b.names)
			index[name] = k
			b.names, sizes = append(b.names, name), append(sizes, 0)
		}
		sizes[k]++
		b.archetype = append(b.archetype, k)
	}
	for seed := range o.Seeds {
		rng := rand.New(rand.NewPCG(o.Seed, uint64(seed)))
		b.foldOf = append(b.foldOf, classify.Folds(sizes, mostFolds, rng))
	}
	return b
}

// archetypeOf is the unit of folds and resampling; a family without an archetype is its own.
func archetypeOf(f *agentbound.Family) string {
	if f.Archetype == "" {
		return string(f.ID)
	}
	return string(f.Archetype)
}

func (b *bench) folds() int { return min(mostFolds, len(b.names)) }

// sample is one text, or one row of numbers, of a family.
type sample struct {
	family   int
	positive bool
}

// experiment is a classifier to be tried. Where paired is set, every family has one
// positive and one negative sample.
type experiment struct {
	samples []sample
	rows    func(train []int) *classify.Matrix // all samples, as fitted on those of train; safe for concurrent use
	paired  bool
}

// trial is what an experiment's held-out samples scored, by seed. choice is of the
// model that was fitted on the differences between the two samples of a family.
type trial struct {
	experiment
	alone, choice [][]float64
}

// try runs an experiment. Without two archetypes the scores are empty.
func (b *bench) try(ctx context.Context, e experiment) (*trial, error) {
	t := &trial{experiment: e}
	if b.folds() < 2 || len(e.samples) == 0 {
		return t, nil
	}
	for range b.opts.Seeds {
		t.alone = append(t.alone, make([]float64, len(e.samples)))
		t.choice = append(t.choice, make([]float64, len(e.samples)))
	}
	return t, run.Each(ctx, b.opts.Seeds*b.folds(), func(_ context.Context, i int) error {
		return b.fold(t, i/b.folds(), i%b.folds())
	})
}

// fold fits on the samples outside a fold and scores those in it.
func (b *bench) fold(t *trial, seed, fold int) error {
	var train, test []int
	positive := make([]bool, len(t.samples))
	for i, s := range t.samples {
		positive[i] = s.positive
		if b.foldOf[seed][b.archetype[s.family]] == fold {
			test = append(test, i)
		} else {
			train = append(train, i)
		}
	}
	rows := t.rows(train)
	model, err := classify.Fit(rows, positive, train, classify.Fitting{})
	if err != nil {
		return err
	}
	for _, i := range test {
		t.alone[seed][i] = model.Score(rows, i)
	}
	if !t.paired {
		return nil
	}
	model, err = fitChoice(rows, pairsOf(t.samples, train))
	if err != nil {
		return err
	}
	for _, i := range test {
		t.choice[seed][i] = model.Score(rows, i)
	}
	return nil
}

// fitChoice fits on differences of positive and negative. All are positive: without an
// intercept, the mirror image of a pair would say the same.
func fitChoice(rows *classify.Matrix, pairs [][2]int) (classify.Logistic, error) {
	apart := rows.Differences(pairs)
	positive, all := make([]bool, len(pairs)), make([]int, len(pairs))
	for i := range pairs {
		positive[i], all[i] = true, i
	}
	return classify.Fit(apart, positive, all, classify.Fitting{NoConstant: true})
}

// pairsOf are the positive and negative samples of each family among the given ones.
func pairsOf(samples []sample, among []int) [][2]int {
	var pairs [][2]int
	at := map[int]int{}
	for _, i := range among {
		s := samples[i]
		k, known := at[s.family]
		if !known {
			k = len(pairs)
			at[s.family], pairs = k, append(pairs, [2]int{})
		}
		if s.positive {
			pairs[k][0] = i
		} else {
			pairs[k][1] = i
		}
	}
	return pairs
}

// auc measures how well held-out samples of positive and negative kind are told apart,
// among the families that keep takes (nil: all). Scores of one fold are compared.
func (b *bench) auc(t *trial, m Measure, keep func(*agentbound.Family) bool) (Measure, *metric.Concordance) {
	return b.measure(t, m, keep, t.alone, func(seed int, s sample) int { return b.foldOf[seed][b.archetype[s.family]] })
}

// forced measures in how many families the positive of the two samples is told.
func (b *bench) forced(t *trial, m Measure, keep func(*agentbound.Family) bool) Measure {
	m, _ = b.measure(t, m, keep, t.choice, func(_ int, s sample) int { return s.family })
	return m
}

func (b *bench) measure(t *trial, m Measure, keep func(*agentbound.Family) bool, scores [][]float64, blockOf func(seed int, s sample) int) (Measure, *metric.Concordance) {
	all := &metric.Concordance{}
	var bySeed []float64
	families := map[int]bool{}
	for seed, score := range scores {
		blocks := map[int][]metric.Scored{}
		for i, s := range t.samples {
			if keep != nil && !keep(b.families[s.family]) {
				continue
			}
			families[s.family] = true
			k := blockOf(seed, s)
			blocks[k] = append(blocks[k], metric.Scored{Cluster: b.names[b.archetype[s.family]], Positive: s.positive, Score: score[i]})
		}
		one := &metric.Concordance{}
		for _, k := range sortedKeys(blocks) {
			one.Add(blocks[k])
			all.Add(blocks[k])
		}
		if v := one.AUC(); !math.IsNaN(v) {
			bySeed = append(bySeed, v)
		}
	}
	m.Families, m.Archetypes = len(families), all.Clusters()
	if len(bySeed) == 0 {
		return m, all
	}
	mean, sd := meanSD(bySeed)
	lo, hi, method := all.Interval(metric.Options{Seed: b.opts.Seed, Resamples: b.opts.Resamples}, m.Audit+m.Name+m.Level)
	m.Value, m.SD, m.Method = &mean, &sd, method
	m.CI95 = &[2]float64{min(lo, mean), max(hi, mean)} // the mean over seeds is not quite the pooled AUC
	return m, all
}

// share measures how many families have a property.
func (b *bench) share(m Measure, has []bool, keep func(*agentbound.Family) bool) Measure {
	clusters := make([][2]int, len(b.names))
	for i, yes := range has {
		if keep != nil && !keep(b.families[i]) {
			continue
		}
		k := b.archetype[i]
		m.Families++
		clusters[k][1]++
		if yes {
			clusters[k][0]++
		}
	}
	for _, c := range clusters {
		m.Archetypes += min(c[1], 1)
	}
	e := metric.Proportion(clusters, metric.Options{Seed: b.opts.Seed, Resamples: b.opts.Resamples}, m.Audit+m.Name+m.Level)
	if e.Value != nil {
		value := *e.Value / 100
		m.Value, m.CI95, m.Method = &value, &[2]float64{e.CI95[0] / 100, e.CI95[1] / 100}, e.Method
	}
	return m
}

func meanSD(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	if len(values) < 2 {
		return mean, 0
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(sd)
}

func sortedKeys[K int | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// texts is an experiment on texts.
func (b *bench) texts(texts []string, samples []sample, paired bool) (experiment, *classify.Corpus) {
	groups := make([]int, len(samples))
	for i, s := range samples {
		groups[i] = b.archetype[s.family]
	}
	c := classify.NewCorpus(texts, groups)
	return experiment{samples, func(train []int) *classify.Matrix { return c.Rows(train, fewestGroups) }, paired}, c
}

// fewestGroups is how many archetypes must have a term for it to count: what one alone
// says cannot carry to another.
const fewestGroups = 2

// numbers is an experiment on rows of numbers.
func numbers(rows [][]float64, samples []sample, paired bool) experiment {
	return experiment{samples, func(train []int) *classify.Matrix { return classify.Standardise(rows, train) }, paired}
}

// task gives a family's task; whole made sure that there is one.
func task(f *agentbound.Family, s agentbound.Split) *agentbound.Task {
	t, ok := f.Task(s)
	if !ok {
		panic(fmt.Sprintf("family %s has no %s", f.ID, s))
	}
	return t
}
