package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

var csvHead = []string{
	"run", "agent", "intervention", "privileged", "incomplete", "suite", "suite_digest", "world", "judge",
	"measure", "value", "passes", "valid", "lo", "hi", "method",
	"bare_run", "delta", "delta_lo", "delta_hi", "pairs", "dropped", "unmatched", "delta_method",
	"on_intervention_failure",
}

// writeCSV writes one row a run and measure, those of the splits included. Value, lo
// and hi are percentages, empty where nothing is valid. A run with an intervention also
// has the paired difference to the bare run of its set-up, in points, for the measures
// of a Pairing.
func (r *Report) writeCSV(w io.Writer) error {
	if len(r.Comparisons) > 0 || r.Paper != nil {
		return errCSV
	}
	out := csv.NewWriter(w)
	if err := out.Write(csvHead); err != nil {
		return err
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		for _, m := range Bounded() {
			if err := out.Write(slices.Concat(run.csvIdentity(), csvEstimate(m, run.estimate(m)), r.csvPaired(run, m), []string{run.plan.Intervention.Settings["on_failure"]})); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func (r *Run) csvIdentity() []string {
	return []string{
		string(r.ID), r.Agent, r.Intervention, strconv.FormatBool(r.Privileged), strconv.FormatBool(r.Incomplete),
		r.Suite.Name, string(r.Suite.Digest), r.World, r.Judge,
	}
}

func csvEstimate(m metric.Measure, e metric.Estimate) []string {
	value, lo, hi := "", "", ""
	if e.Value != nil {
		value = csvNumber(*e.Value)
	}
	if e.CI95 != nil {
		lo, hi = csvNumber(e.CI95[0]), csvNumber(e.CI95[1])
	}
	return []string{string(m), value, strconv.Itoa(e.Passes), strconv.Itoa(e.Valid), lo, hi, e.Method}
}

// csvPaired is the difference to bare, empty where there is none.
func (r *Report) csvPaired(run *Run, m metric.Measure) []string {
	out := make([]string, 8)
	for _, p := range r.Interventions {
		d, ok := p.Measures[m]
		if p.Run != run.ID || !ok {
			continue
		}
		out[0], out[4], out[5], out[6], out[7] = string(p.Bare), strconv.Itoa(d.Pairs), strconv.Itoa(d.Dropped), strconv.Itoa(d.Unmatched), d.Method
		if d.Delta != nil {
			out[1], out[2], out[3] = csvNumber(*d.Delta), csvNumber(d.CI95[0]), csvNumber(d.CI95[1])
		}
	}
	return out
}

func csvNumber(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

// estimate finds a measure of Bounded in the summary.
func (r *Run) estimate(m metric.Measure) metric.Estimate {
	if e, ok := r.Measures[m]; ok {
		return e
	}
	for _, s := range agentbound.Splits() {
		switch m {
		case metric.SplitUtility(s):
			return r.Splits[s].Utility
		case metric.SplitSafety(s):
			return r.Splits[s].Safety
		}
	}
	return metric.Estimate{Method: metric.MethodNone}
}
