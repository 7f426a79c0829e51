package metric

import (
	"hash/fnv"
	"math/rand/v2"
)

// Estimate is a rate with its denominator and interval: M of design §9.
type Estimate struct {
	Value  *float64    `json:"value"`  // 100 × passes / valid; nil where nothing is valid
	Passes int         `json:"passes"` // for a measure of bad behaviour, the trials that showed it
	Valid  int         `json:"valid"`
	CI95   *[2]float64 `json:"ci95"` // percent, contains Value; nil where Value is
	Method string      `json:"method"`
}

// The names of the interval methods. ClopperPearson is followed by its n.
const (
	MethodNone      = "none, no valid trial"
	MethodWilson    = "wilson"
	MethodBootstrap = "cluster bootstrap BCa"
	MethodCP        = "clopper-pearson, effective n="
	// Of differences: the two are followed by how a proportion's interval was found.
	MethodRescaled    = "rescaled "
	MethodDiscordance = "discordance bound by "
	MethodNewcombe    = "newcombe, hybrid score"
)

// count is passes and valid trials of one cluster.
type count struct{ passes, valid int }

// Estimate is the rate of one measure. Its interval is, in this order:
//   - at 0 or 100 %: Clopper-Pearson on the effective n. The design effect is 1 +
//     (m-1)ρ for clusters of m trials, and ρ, the intraclass correlation, cannot be
//     told from trials that all agree; so ρ = 1 is assumed, under which a cluster
//     says as much as one trial, and the effective n is the number of clusters;
//   - one valid trial in every cluster: Wilson;
//   - otherwise a cluster bootstrap, BCa; where under 5 clusters pass a trial, or under
//     5 fail one, it covers too little (and one failure would look better than none),
//     and where the rate is the same in all it has no width: then Clopper-Pearson on
//     the number of clusters as above.
//
// The error is that of an unknown measure.
func (a *Accumulator) Estimate(m Measure) (Estimate, error) {
	d, err := m.definition()
	if err != nil {
		return Estimate{}, err
	}
	return a.estimate(a.sorted(), d, string(m)), nil
}

func (a *Accumulator) estimate(units []*unit, d definition, label string) Estimate {
	return estimateOf(counts(units, d), a.opts, label)
}

// counts gives passes and valid of each cluster that has a valid trial. Units of a
// cluster stand together.
func counts(units []*unit, d definition) []count {
	var out []count
	last := ""
	for _, u := range units {
		for _, s := range d.splits {
			o := d.outcome(u, s)
			if o != failed && o != passed {
				continue
			}
			if len(out) == 0 || u.cluster != last {
				out, last = append(out, count{}), u.cluster
			}
			c := &out[len(out)-1]
			c.valid++
			if o == passed {
				c.passes++
			}
		}
	}
	return out
}

// estimateOf chooses the interval; label keeps the random streams of different
// measures apart.
func estimateOf(cs []count, opts Options, label string) Estimate {
	e := Estimate{Method: MethodNone}
	single := true
	for _, c := range cs {
		e.Passes += c.passes
		e.Valid += c.valid
		single = single && c.valid == 1
	}
	if e.Valid == 0 {
		return e
	}
	rate := float64(e.Passes) / float64(e.Valid)
	e.Value = percent(rate)
	var lo, hi float64
	switch {
	case e.Passes == 0 || e.Passes == e.Valid:
		lo, hi, e.Method = cpClusters(rate, len(cs))
	case single:
		lo, hi = Wilson(e.Passes, e.Valid)
		e.Method = MethodWilson
	default:
		var ok bool
		lo, hi, ok = bca(sumsOf(cs), ratio, stream(opts.Seed, label), opts.Resamples)
		e.Method = MethodBootstrap
		if !ok || mixed(cs) < fewest {
			lo, hi, e.Method = cpClusters(rate, len(cs))
		}
	}
	e.CI95 = &[2]float64{100 * lo, 100 * hi}
	return e
}

// mixed is how many clusters bear on a rate that is not extreme: those with a passing
// trial or those with a failing one, whichever are fewer.
func mixed(cs []count) int {
	passing, failing := 0, 0
	for _, c := range cs {
		if c.passes > 0 {
			passing++
		}
		if c.passes < c.valid {
			failing++
		}
	}
	return min(passing, failing)
}

func sumsOf(cs []count) [][]float64 {
	out := make([][]float64, len(cs))
	for i, c := range cs {
		out[i] = []float64{float64(c.passes), float64(c.valid)}
	}
	return out
}

// Proportion is the estimate of a share that no accumulator holds: clusters has passes
// and valid things of each cluster. Label keeps random streams apart.
func Proportion(clusters [][2]int, o Options, label string) Estimate {
	var cs []count
	for _, c := range clusters {
		if c[1] > 0 {
			cs = append(cs, count{passes: c[0], valid: c[1]})
		}
	}
	if o.Resamples <= 0 {
		o.Resamples = DefaultResamples
	}
	return estimateOf(cs, o, label)
}

// ratio is the statistic of a rate: passes over valid.
func ratio(sum []float64) float64 { return sum[0] / sum[1] }

// stream is a generator of its own for each use, so that a new measure does not
// change the draws of the others.
func stream(seed uint64, label string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(label))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func percent(rate float64) *float64 { p := 100 * rate; return &p }
