package metric

import "github.com/agentbound/agentbound"

// Repeat is what a measure looks like over k attempts at a task (a family's split),
// averaged over tasks with at least k scored repeats. Values are percent, nil where
// there is no such task.
type Repeat struct {
	Measure Measure  `json:"measure"`
	K       int      `json:"k"`
	PassAt  *float64 `json:"pass_at_k"`  // some attempt of k passes
	PassAll *float64 `json:"pass_hat_k"` // all k pass: pass^k
	Tasks   int      `json:"tasks"`
	Dropped int      `json:"dropped"` // tasks with fewer than k scored repeats
}

// Repeats estimates pass@k and pass^k of a measure. The error is that of an unknown
// measure.
func (a *Accumulator) Repeats(m Measure, k int) (Repeat, error) {
	d, err := m.definition()
	if err != nil {
		return Repeat{}, err
	}
	type task struct {
		family agentbound.FamilyID
		split  agentbound.Split
	}
	tasks := map[task]count{}
	var order []task // floats are summed in one order, so that equal rows give equal bytes
	for _, u := range a.sorted() {
		for _, s := range d.splits {
			o := d.outcome(u, s)
			if o == absent {
				continue
			}
			t := task{u.family, s}
			c, known := tasks[t]
			if !known {
				order = append(order, t)
			}
			if o != unscored {
				c.valid++
			}
			if o == passed {
				c.passes++
			}
			tasks[t] = c
		}
	}
	r := Repeat{Measure: m, K: k}
	var at, all float64
	for _, t := range order {
		c := tasks[t]
		if k < 1 || c.valid < k {
			r.Dropped++
			continue
		}
		r.Tasks++
		at += PassAt(c.valid, c.passes, k)
		all += PassAll(c.valid, c.passes, k)
	}
	if r.Tasks > 0 {
		r.PassAt, r.PassAll = percent(at/float64(r.Tasks)), percent(all/float64(r.Tasks))
	}
	return r, nil
}

// PassAt is the unbiased estimate of the chance that some of k attempts passes,
// 1 - C(n-c,k)/C(n,k), where c of n attempts passed and 1 ≤ k ≤ n. Source: Chen et al.,
// Evaluating Large Language Models Trained on Code (2021), eq. 1.
func PassAt(n, c, k int) float64 { return 1 - PassAll(n, n-c, k) }

// PassAll is that of the chance that all k pass, C(c,k)/C(n,k). Source: Yao et al.,
// τ-bench (2024): pass^k.
func PassAll(n, c, k int) float64 {
	p := 1.0
	for i := range k {
		p *= float64(max(0, c-i)) / float64(n-i)
	}
	return p
}
