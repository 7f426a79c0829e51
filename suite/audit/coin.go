package audit

import (
	"context"
	"math/rand/v2"

	"github.com/agentbound/agentbound/internal/classify"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/metric"
)

// The test of the coin. A seeded coin decides which routine wording CM gets, so in an
// honest suite the two may be swapped in any family: what a classifier makes of a
// suite with random swaps is what it makes of honest suites with these wordings. The
// interval of a held-out AUC takes the fitted models as they are, and with few
// archetypes it is too narrow for what the coin alone can do.
const (
	swaps     = 99   // random swaps; the least p is 0.01
	coinLevel = 0.01 // a bound that an interval breaks is a breach from this p on
	swapBatch = 33   // swaps made before looking whether more are needed
	hopeless  = 5    // swaps as extreme as the suite, from which on p can say nothing
)

// coin is the share of random swaps (the suite itself among them) that are told at
// least as well as the suite is, over the first assignment of folds.
func (b *bench) coin(ctx context.Context, t *trial, forced bool) (float64, error) {
	folds := make([]swapped, b.folds())
	err := run.Each(ctx, len(folds), func(_ context.Context, f int) error {
		folds[f] = b.swappable(t, f, forced)
		return nil
	})
	if err != nil {
		return 0, err
	}
	own, err := b.told(t, folds, make([]bool, len(b.families)), forced)
	if err != nil {
		return 0, err
	}
	above, made := 1, 1
	for above <= hopeless && made <= swaps {
		values := make([]float64, swapBatch)
		err := run.Each(ctx, len(values), func(_ context.Context, i int) (err error) {
			values[i], err = b.told(t, folds, b.flips(made+i), forced)
			return err
		})
		if err != nil {
			return 0, err
		}
		for _, v := range values {
			if v >= own {
				above++
			}
		}
		made += len(values)
	}
	return float64(above) / float64(made), nil
}

// flips tosses a coin for every family.
func (b *bench) flips(toss int) []bool {
	rng := rand.New(rand.NewPCG(b.opts.Seed, 1<<32+uint64(toss)))
	flips := make([]bool, len(b.families))
	for i := range flips {
		flips[i] = rng.IntN(2) == 1
	}
	return flips
}

// swapped is one fold: the rows do not hang on the labels, so they are made once.
type swapped struct {
	rows, apart *classify.Matrix
	train, test []int
	family      []int // of each training row: a sample, or the difference of a family
}

func (b *bench) swappable(t *trial, fold int, forced bool) swapped {
	var s swapped
	for i, x := range t.samples {
		if b.foldOf[0][b.archetype[x.family]] == fold {
			s.test = append(s.test, i)
		} else {
			s.train = append(s.train, i)
		}
	}
	s.rows = t.rows(s.train)
	if forced {
		pairs := pairsOf(t.samples, s.train)
		s.apart, s.train = s.rows.Differences(pairs), nil
		for k, p := range pairs {
			s.train, s.family = append(s.train, k), append(s.family, t.samples[p[0]].family)
		}
	}
	return s
}

// told is how well a suite with flipped families is told.
func (b *bench) told(t *trial, folds []swapped, flips []bool, forced bool) (float64, error) {
	var c metric.Concordance
	for _, f := range folds {
		model, err := f.fit(t, flips, forced)
		if err != nil {
			return 0, err
		}
		blocks := map[int][]metric.Scored{}
		for _, i := range f.test {
			x := t.samples[i]
			k := 0
			if forced {
				k = x.family
			}
			blocks[k] = append(blocks[k], metric.Scored{Cluster: b.names[b.archetype[x.family]], Positive: x.positive != flips[x.family], Score: model.Score(f.rows, i)})
		}
		for _, k := range sortedKeys(blocks) {
			c.Add(blocks[k])
		}
	}
	return c.AUC(), nil
}

func (s *swapped) fit(t *trial, flips []bool, forced bool) (classify.Logistic, error) {
	if forced {
		positive := make([]bool, len(s.family))
		for k, family := range s.family {
			positive[k] = !flips[family]
		}
		return classify.Fit(s.apart, positive, s.train, classify.Fitting{NoConstant: true})
	}
	positive := make([]bool, len(t.samples))
	for i, x := range t.samples {
		positive[i] = x.positive != flips[x.family]
	}
	return classify.Fit(s.rows, positive, s.train, classify.Fitting{})
}
