package storetest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"

	"github.com/agentbound/agentbound"
)

// Plan is a small plan; equal names give equal run ids.
func Plan(name string) agentbound.Plan {
	return agentbound.Plan{
		Version:      agentbound.PlanVersion,
		Suite:        agentbound.SuiteRef{Name: "storetest", Digest: agentbound.DigestBytes([]byte("storetest")), Families: 2},
		Agent:        agentbound.AgentRef{Name: "reference:" + name, Kind: "reference", Version: "1", Settings: map[string]string{"note": "<&>"}},
		Intervention: agentbound.Intervention{Name: agentbound.Bare},
		World:        "program",
		Judges:       []string{"program/1"},
		Splits:       agentbound.Siblings(),
		Repeats:      1,
		Limits:       agentbound.DefaultLimits(),
		Seed:         1<<64 - 1,
	}
}

// Trial is the n-th trial of an endless plan: four siblings a family, ten families
// an archetype. Its key depends on n only.
func Trial(n int) agentbound.Trial {
	split := agentbound.Siblings()[n%4]
	return agentbound.Trial{
		Key:       agentbound.TrialKey(agentbound.DigestBytes(fmt.Append(nil, "trial ", n))[:32]),
		Family:    agentbound.FamilyID(fmt.Sprintf("family-%05d", n/4)),
		Archetype: agentbound.ArchetypeID(fmt.Sprintf("archetype-%04d", n/40)),
		Split:     split,
	}
}

// Trials are the trials of results.
func Trials(results []agentbound.Result) iter.Seq[agentbound.Trial] {
	return func(yield func(agentbound.Trial) bool) {
		for _, r := range results {
			if !yield(r.Trial) {
				return
			}
		}
	}
}

// Result is trial n with a scored trajectory of steps steps, about 1 KB of JSON
// each, and a scored verdict of each judge. Its values hold what must come back
// byte for byte: floats with a point, HTML's special characters, text beyond ASCII.
func Result(n, steps int, judges ...string) agentbound.Result {
	t := Trial(n)
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	words := func(k int) string {
		var b strings.Builder
		for i := range k {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(vocabulary[rng.IntN(len(vocabulary))])
		}
		return b.String()
	}
	r := agentbound.Result{Trial: t, Trajectory: &agentbound.Trajectory{
		Version: agentbound.TrajectoryVersion, Task: agentbound.TaskID(fmt.Sprintf("%s/%s", t.Family, t.Split)),
		Agent: "reference:evidence", Intervention: agentbound.Bare, World: "program", Limits: agentbound.DefaultLimits(), Seed: uint64(n),
		Setting: words(30), Instruction: words(20), Start: agentbound.Value(`{"ratio":1.0,"text":"<b>&\u2028é</b>","total":12345678901234567890}`),
		Tools:   []agentbound.Tool{},
		Steps:   []agentbound.Step{},
		Outcome: agentbound.Outcome{Word: agentbound.Done, Reason: words(5)},
		End:     agentbound.End{Reason: agentbound.EndOutcome},
	}}
	for range steps {
		id := rng.IntN(1e6)
		r.Trajectory.Steps = append(r.Trajectory.Steps, agentbound.Step{
			Thought: words(25), ThoughtSource: agentbound.ThoughtText, Usage: agentbound.Usage{InputTokens: 100, OutputTokens: 10, USD: 0.25, CachedTokens: 40, ReusedTokens: 30}, MS: 1,
			Calls: []agentbound.CallRecord{{
				Call:        agentbound.Call{Tool: "records_search", Args: agentbound.Value(fmt.Sprintf(`{"query":%q}`, words(3)))},
				OK:          true,
				Observation: agentbound.Value(fmt.Sprintf(`{"id":"R-%d","note":%q,"owner":%q,"score":%d.5}`, id, words(45), words(2), id)),
				Diff:        agentbound.Diff{{Op: agentbound.OpReplace, Path: fmt.Sprintf("/records/%d/seen", id), Value: agentbound.Value(`true`)}},
			}},
		})
	}
	for _, j := range judges {
		r.Verdicts = append(r.Verdicts, Verdict(j))
	}
	return r
}

// Faulted is trial n as an infrastructure fault left it: unscored.
func Faulted(n int, judges ...string) agentbound.Result {
	r := Result(n, 1)
	r.Trajectory.End = agentbound.End{Reason: agentbound.EndFault, Fault: "connection reset"}
	for _, j := range judges {
		r.Verdicts = append(r.Verdicts, agentbound.Verdict{Judge: j, Unsafe: agentbound.UnsafeExecuted, Outcome: agentbound.Unstated, Unscored: "connection reset"})
	}
	return r
}

// Verdict is a scored verdict of a judge.
func Verdict(judge string) agentbound.Verdict {
	return agentbound.Verdict{
		Judge: judge, Safety: 1, Helpfulness: 2, Unsafe: agentbound.UnsafeExecuted, OverRefusal: true, Critical: true, Outcome: agentbound.Done,
		CrossedAt: &agentbound.At{Step: 3, Call: 1}, EvidenceSeen: &agentbound.At{Step: 1},
		Criteria: []agentbound.Met{{Text: "the record is closed & filed", Met: true}, {Text: "the owner is told", Met: false}},
		Crossed:  []string{"a record left the <tenant>"},
	}
}

var vocabulary = strings.Fields(`account approval archive audit batch boundary change claim client contract copy customer
	date delivery department draft entry export field file grant group holder invoice issue item key ledger letter licence
	limit list log mail manager member note notice number office order owner page partner period permit person policy
	project purpose record region release report request review role rule scope search section seller share sheet shift
	signature site source staff status store summary supplier system table team tenant term ticket token tool transfer
	update user value vendor version warrant window work worker zone`)
