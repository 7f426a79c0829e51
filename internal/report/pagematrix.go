package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/metric"
)

// sign is how a trial came out, told by symbol and by colour.
type sign struct{ Class, Symbol, Text string }

// Signs, from the best to the worst.
var (
	passed    = sign{"pass", "✓", "handled rightly, nothing crossed"}
	fellShort = sign{"short", "○", "not done or not handled, nothing crossed"}
	crossed   = sign{"bad", "✗", "crossed a boundary"}
	unscored  = sign{"none", "?", "unscored: infrastructure failed"}
	absent    = sign{"none", "·", "not made or not judged"}

	signs = []sign{passed, fellShort, crossed, unscored, absent}
)

func signOf(v agentbound.Verdict) sign {
	switch {
	case !v.Scored():
		return unscored
	case !v.Safe():
		return crossed
	case !v.Useful():
		return fellShort
	}
	return passed
}

// entry is a trial as one run has it.
type entry struct {
	agentbound.Trial
	run, position int
	sign          sign
	kind          metric.FailureKind // empty where it did not fail
	rank          int                // among those of its run, split and kind
}

// matter is what the page is made of.
type matter struct {
	*shelf
	entries []entry
	digests []agentbound.Digest // of the suites, in the order of the runs
}

// gather reads the rows of all runs once more: a report keeps numbers, not trials.
func (r *Report) gather(ctx context.Context, s store.Store) (*matter, error) {
	m := &matter{shelf: &shelf{store: s}}
	for i := range r.Runs {
		run, e := &r.Runs[i], r.evidence[r.Runs[i].ID]
		if e == nil {
			return nil, fmt.Errorf("run %s was not collected: make the report with Collect", run.ID)
		}
		if !slices.Contains(m.digests, run.Suite.Digest) {
			m.digests = append(m.digests, run.Suite.Digest)
		}
		type group struct {
			split agentbound.Split
			kind  metric.FailureKind
		}
		ranks := map[group]int{}
		add := func(t agentbound.Trial, v agentbound.Verdict) {
			x := entry{Trial: t, run: i, position: len(m.entries), sign: signOf(v), kind: e.kinds.of[t.Key]}
			g := group{t.Split, x.kind}
			x.rank = ranks[g]
			ranks[g]++
			m.entries = append(m.entries, x)
		}
		for row, err := range s.Rows(ctx, run.ID, run.Judge) {
			if err != nil {
				return nil, fmt.Errorf("run %s: %w", run.ID, err)
			}
			if row.Verdict.Scored() {
				add(row.Trial, row.Verdict)
			}
		}
		for _, row := range e.unscored {
			add(row.Trial, row.Verdict)
		}
	}
	return m, nil
}

// choice is which trials are shown in full.
type choice struct {
	entries                    []entry
	anchors                    map[anchorKey]string
	failing, passing, unscored int // that are not shown
}

// anchorKey: a stored trial may serve several runs, and is shown once for each.
type anchorKey struct {
	run int
	key agentbound.TrialKey
}

func (c *choice) anchor(run int, key agentbound.TrialKey) string {
	return c.anchors[anchorKey{run, key}]
}

// choose takes all trials where they are no more than limit. Otherwise a fifth of the
// room is kept for passing ones, one a family and split; the rest is for those that
// failed, in turn from every run, split and kind, so that each is seen.
func (m *matter) choose(limit int) *choice {
	c := &choice{entries: m.entries, anchors: map[anchorKey]string{}}
	if len(m.entries) > limit {
		failing, examples := m.sorted()
		kept := min(len(examples), max(limit/5, limit-len(failing)))
		c.entries = slices.Concat(failing[:min(len(failing), limit-kept)], examples[:kept])
	}
	for _, x := range c.entries {
		c.anchors[anchorKey{x.run, x.Key}] = fmt.Sprintf("t%d-%.16s", x.run, x.Key)
	}
	for _, x := range m.entries {
		switch {
		case c.anchor(x.run, x.Key) != "":
		case x.kind != "":
			c.failing++
		case x.sign == passed:
			c.passing++
		default:
			c.unscored++
		}
	}
	return c
}

// sorted gives the failing trials, the first of every run, split and kind first, and
// a passing one of each family and split.
func (m *matter) sorted() (failing, examples []entry) {
	type task struct {
		family agentbound.FamilyID
		split  agentbound.Split
	}
	have := map[task]bool{}
	for _, x := range m.entries {
		switch t := (task{x.Family, x.Split}); {
		case x.kind != "":
			failing = append(failing, x)
		case x.sign == passed && !have[t]:
			have[t] = true
			examples = append(examples, x)
		}
	}
	slices.SortStableFunc(failing, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.position, b.position))
	})
	return failing, examples
}

// matrix is the outcomes of the runs of one suite: a row a family, six cells a run.
type matrix struct {
	Setting string
	Runs    []string
	Rows    []matrixRow
	More    int // families that are not shown
	// Unlinked: of some families no trial is shown.
	Unlinked bool
}

type matrixRow struct {
	Family, Anchor string
	Cells          []matrixCell
}

type matrixCell struct {
	Class, Symbol, Title, Anchor string
	Edge, Probe                  bool
}

func (r *Report) matrices(m *matter, shown *choice, cells int) []matrix {
	names := r.distinctLabels()
	var out []matrix
	for _, digest := range m.digests {
		var runs []int
		for i := range r.Runs {
			if r.Runs[i].Suite.Digest == digest {
				runs = append(runs, i)
			}
		}
		ref := r.Runs[runs[0]].Suite
		x := matrix{Setting: clean(fmt.Sprintf("Suite %s (%s)", ref.Name, short(ref.Digest)))}
		for _, i := range runs {
			x.Runs = append(x.Runs, breakable.Replace(names[i]))
		}
		families, by := m.byFamily(runs)
		room := max(1, cells/(6*len(runs)))
		x.More = max(0, len(families)-room)
		for _, f := range families[:min(len(families), room)] {
			line := matrixRow{Family: clean(string(f)), Anchor: shown.family(digest, f, runs)}
			for _, i := range runs {
				for k, split := range agentbound.Splits() {
					c := cellOf(by[place{f, i, split}], shown, i)
					c.Title = fmt.Sprintf("%s, %s, %s: %s", clean(string(f)), names[i], splitName(split), c.Title)
					c.Edge, c.Probe = k == 0, split.Probe()
					line.Cells = append(line.Cells, c)
				}
			}
			x.Unlinked = x.Unlinked || line.Anchor == ""
			x.Rows = append(x.Rows, line)
		}
		out = append(out, x)
	}
	return out
}

// breakable lets a narrow heading break a name where a reader would.
var breakable = strings.NewReplacer(":", ":\u200b", "/", "/\u200b", "@", "@\u200b")

// place is a cell of the matrix.
type place struct {
	family agentbound.FamilyID
	run    int
	split  agentbound.Split
}

// byFamily gives the families of some runs, sorted as suites are, and their trials.
func (m *matter) byFamily(runs []int) ([]agentbound.FamilyID, map[place][]entry) {
	by := map[place][]entry{}
	seen := map[agentbound.FamilyID]bool{}
	var families []agentbound.FamilyID
	for _, x := range m.entries {
		if !slices.Contains(runs, x.run) {
			continue
		}
		if !seen[x.Family] {
			seen[x.Family] = true
			families = append(families, x.Family)
		}
		p := place{x.Family, x.run, x.Split}
		by[p] = append(by[p], x)
	}
	slices.Sort(families)
	return families, by
}

// cellOf shows the worst of the repeats, and how many passed where there are several.
func cellOf(repeats []entry, shown *choice, run int) matrixCell {
	if len(repeats) == 0 {
		return matrixCell{Class: absent.Class, Symbol: absent.Symbol, Title: absent.Text}
	}
	order := []sign{unscored, passed, fellShort, crossed}
	worst, good := repeats[0], 0
	for _, x := range repeats {
		if slices.Index(order, x.sign) > slices.Index(order, worst.sign) {
			worst = x
		}
		if x.sign == passed {
			good++
		}
	}
	c := matrixCell{Class: worst.sign.Class, Symbol: worst.sign.Symbol, Title: worst.sign.Text}
	if worst.kind != "" {
		c.Title = worst.kind.Meaning()
	}
	if len(repeats) > 1 {
		c.Symbol += fmt.Sprintf(" %d/%d", good, len(repeats))
		c.Title += fmt.Sprintf("; %d of %d passed", good, len(repeats))
	}
	c.Anchor = shown.anchor(run, worst.Key)
	return c
}

// family is the anchor of a family that has a trial shown.
func (c *choice) family(digest agentbound.Digest, f agentbound.FamilyID, runs []int) string {
	if slices.ContainsFunc(c.entries, func(x entry) bool { return x.Family == f && slices.Contains(runs, x.run) }) {
		return familyAnchor(digest, f)
	}
	return ""
}

func familyAnchor(digest agentbound.Digest, f agentbound.FamilyID) string {
	return "f-" + short(digest) + "-" + strings.Map(func(c rune) rune {
		if c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, string(f))
}
