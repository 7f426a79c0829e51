package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

var csvHead = []string{
	"run", "agent", "intervention", "privileged", "incomplete", "suite", "suite_digest", "world", "judge",
	"measure", "value", "passes", "valid", "lo", "hi", "method",
}

// writeCSV writes one row a run and measure, those of the splits included. Value, lo
// and hi are percentages, empty where nothing is valid.
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
			if err := out.Write(append(run.csvIdentity(), csvEstimate(m, run.estimate(m))...)); err != nil {
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
