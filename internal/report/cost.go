package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/price"
)

// Cost is what the trials of a run cost, every attempt at them included: the turns of the
// subject and of an emulated world's model, not those of a judge. Money is found when the
// report is made, from stored tokens and the prices of that day.
type Cost struct {
	USD          *float64 `json:"usd"` // nil: not known, which is not 0
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	CachedTokens int64    `json:"cached_tokens,omitempty"` // of InputTokens
	ReusedTokens int64    `json:"reused_tokens,omitempty"` // of all tokens, what a response cache answered: paid for before
	Basis        Basis    `json:"basis"`
	PricesAsOf   string   `json:"prices_as_of,omitempty"` // of BasisPrices: the day on which they were looked up
	PricesSource string   `json:"prices_source,omitempty"`
}

// Basis says how a cost was found.
type Basis string

// The bases, and why there may be none.
const (
	BasisFree    Basis = "free"    // nothing was paid for
	BasisTold    Basis = "told"    // the subject said what it cost
	BasisPrices  Basis = "prices"  // tokens times prices
	BasisUnknown Basis = "unknown" // no price, or no tokens were told
)

// costOf finds what a run cost from what was stored.
func costOf(p agentbound.Plan, spent agentbound.Usage, made int, prices price.Table) Cost {
	c := Cost{InputTokens: spent.InputTokens, OutputTokens: spent.OutputTokens, CachedTokens: spent.CachedTokens, ReusedTokens: spent.ReusedTokens, Basis: BasisUnknown}
	known := func(basis Basis, usd float64) Cost {
		c.Basis, c.USD = basis, &usd
		return c
	}
	rates, asks := rates(p, prices)
	switch {
	case spent.USD > 0 && p.Agent.Kind == "exec" && len(rates) > 1:
		return c // the agent told what it cost, and its tokens stand in one sum with the world's
	case spent.USD > 0:
		return known(BasisTold, spent.USD)
	case !asks && p.Agent.Kind == "reference" || made == 0:
		return known(BasisFree, 0)
	case len(rates) == 0 || spent.InputTokens+spent.OutputTokens == 0:
		return c
	}
	u := model.Usage{Input: spent.InputTokens, Cached: spent.CachedTokens, Output: spent.OutputTokens}
	for _, rate := range rates {
		if !rate.Known() || rate.Sum(u) != rates[0].Sum(u) {
			return c // tokens of two models are stored as one sum: two prices tell nothing
		}
	}
	c.PricesAsOf, c.PricesSource = rates[0].AsOf, rates[0].Source
	return known(BasisPrices, rates[0].Sum(u))
}

// rates are the prices of the models that a plan's trials ask, and whether they ask any: the
// subject's, and the one that plays an emulated world, whose name is in the world's.
func rates(p agentbound.Plan, prices price.Table) (all []price.Price, asks bool) {
	if p.Agent.Kind != "reference" {
		rate, _ := prices.Find(p.Agent.Name, p.Agent.Settings)
		all, asks = append(all, rate), true
	}
	if kind, rest, ok := strings.Cut(p.World, ":"); ok && strings.HasPrefix(kind, "emulated/") {
		spec, _, _ := strings.Cut(rest, " (")
		rate, _ := prices.Find(spec, nil)
		all, asks = append(all, rate), true
	}
	return all, asks
}

// judgeCost finds what the votes of a rubric judge cost, by the models that gave them; its
// money is known where every model's is. Prices' day and source are of the last model.
func judgeCost(spent map[string]agentbound.Usage, prices price.Table) *Cost {
	c, usd, known := &Cost{Basis: BasisUnknown}, 0.0, len(spent) > 0
	for _, spec := range slices.Sorted(maps.Keys(spent)) {
		u := spent[spec]
		c.InputTokens, c.OutputTokens, c.CachedTokens = c.InputTokens+u.InputTokens, c.OutputTokens+u.OutputTokens, c.CachedTokens+u.CachedTokens
		rate, _ := prices.Find(spec, nil)
		if known = known && rate.Known() && u.InputTokens+u.OutputTokens > 0; known {
			c.PricesAsOf, c.PricesSource = rate.AsOf, rate.Source
			usd += rate.Sum(model.Usage{Input: u.InputTokens, Cached: u.CachedTokens, Output: u.OutputTokens})
		}
	}
	if known {
		c.Basis, c.USD = BasisPrices, &usd
	} else {
		c.PricesAsOf, c.PricesSource = "", ""
	}
	return c
}

// costs are what the runs cost; empty where none of them could cost anything.
func (r *Report) costs() block {
	b := block{title: "Cost of the trials", columns: []string{"", "USD", "prices of", "input\ntokens", "of them\ncached", "output\ntokens"}}
	paid := false
	for i := range r.Runs {
		run := &r.Runs[i]
		c := run.Cost
		if c.Basis == BasisFree {
			continue
		}
		paid = paid || c.Basis != BasisUnknown || c.InputTokens+c.OutputTokens > 0 || run.plan.Agent.Kind == "model"
		usd, of := "not known", none
		if c.USD != nil {
			usd = fmt.Sprintf("%.2f", *c.USD)
		}
		switch c.Basis {
		case BasisPrices:
			of = c.PricesAsOf
		case BasisTold:
			of = "as it told"
		}
		b.rows = append(b.rows, row{cells: []cell{{run.label()}, {usd}, {of}, {count(c.InputTokens)}, {count(c.CachedTokens)}, {count(c.OutputTokens)}}, tight: true})
	}
	if !paid {
		return block{}
	}
	b.notes = r.costNotes()
	return b
}

func (r *Report) costNotes() []string {
	some := func(basis Basis) bool {
		return slices.ContainsFunc(r.Runs, func(x Run) bool { return x.Cost.Basis == basis })
	}
	notes := r.reusedNotes()
	if some(BasisPrices) {
		notes = append(notes, "Stored tokens of every attempt times list prices of the day named, without those for long input; turns of judges are not in it.")
	}
	if some(BasisUnknown) {
		notes = append(notes, "Not known: there is no price for the model where it was asked, or two models of different prices played, or no tokens were told; give prices with --prices FILE.")
	}
	return notes
}

// count is a number with its thousands set apart.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}
