package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/validate"
)

// Variation decides a generation by the engine pattern: nobody writes, archetypes are
// expanded beyond the families that they list.
type Variation struct {
	Source      string // folder of a suite with archetypes, or of one archetype
	Dir         string // new folder for the suite of accepted families
	More        int    // of each archetype, at most
	Concurrency int    // at a time; 0: 1
	Screen      validate.Screen
	Program     string              // version of the program, for the provenance
	Against     []agentbound.Family // beside those that the source lists
	Observe     func(Event)
}

// Vary builds further families of each archetype, holds each against the gates, and
// writes those that pass to a suite. A candidate is judged once: a combination cannot be
// revised. The same call gives the same families.
func Vary(ctx context.Context, v Variation) (Summary, error) {
	if err := v.check(); err != nil {
		return Summary{}, err
	}
	s, further, err := suite.OpenMore(v.Source, v.More)
	if err != nil {
		return Summary{}, &UsageError{err}
	}
	if len(further) == 0 {
		return Summary{}, usage("%s has no archetype with a combination beyond the families that it lists; add options to one", v.Source)
	}
	x := variation{Variation: v, source: s, index: validate.NewIndex(v.Against...), states: make([]Candidate, len(further)), reports: make([]validate.Report, len(further))}
	return x.run(ctx, further)
}

// longestName is what a suite's name may have in characters (suite.schema.json).
const longestName = 80

// check refuses what cannot end in a suite that loads, before anything is built.
func (v Variation) check() error {
	name := filepath.Base(v.Dir)
	unprintable := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	switch {
	case v.Dir == "":
		return usage("no folder for the suite of accepted families")
	case utf8.RuneCountInString(name) > longestName || strings.TrimSpace(name) == "" || strings.ContainsFunc(name, unprintable):
		return usage("folder %q gives the suite its name; accepted: 1 to %d printable characters", name, longestName)
	case v.Concurrency < 0 || v.Concurrency > mostConcurrent:
		return usage("%d candidates at a time; accepted: 1 to %d", v.Concurrency, mostConcurrent)
	}
	if info, err := os.Lstat(v.Dir); err == nil {
		return usage("%s is there already (%s); name a new folder", v.Dir, kindOf(info.Mode()))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return usage("the folder for the suite: %w; name one that can be made", err)
	}
	return nil
}

type variation struct {
	Variation
	source  *suite.Suite
	index   *validate.Index
	states  []Candidate
	reports []validate.Report
	mu      sync.Mutex
}

func (x *variation) run(ctx context.Context, further []suite.Further) (Summary, error) {
	isNew := map[agentbound.FamilyID]bool{}
	for _, f := range further {
		isNew[f.ID] = true
	}
	for i := range x.source.Families {
		if f := &x.source.Families[i]; !isNew[f.ID] {
			x.index.Add(f)
		}
	}
	var g errgroup.Group
	g.SetLimit(max(1, x.Concurrency))
	for i, f := range further { // all gates but novelty, which depends on what was accepted before
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return x.judge(ctx, i, f)
		})
	}
	if err := g.Wait(); err != nil {
		return Summary{}, err
	}
	accepted := x.accept(further)
	s := Summary{Version: Version, Dir: x.Dir, Engine: Pattern, Prompt: PromptVersion, Candidates: x.states, Accepted: len(accepted)}
	s.Rates = validate.Rates(x.reports)
	s.First = s.Rates
	if len(accepted) > 0 {
		out := *x.source
		out.Name, out.Families = filepath.Base(x.Dir), accepted
		out.Description = fmt.Sprintf("Further families of the archetypes of %s.", x.source.Name)
		if err := out.Write(x.Dir); err != nil {
			return s, err
		}
	}
	return s, x.keep()
}

// keep writes what the other engines keep: each candidate's report, the journal, and
// where each accepted family comes from.
func (x *variation) keep() error {
	var journal bytes.Buffer
	for i, c := range x.states {
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		journal.Write(append(line, '\n'))
		j := Judgement{Version: Version, Candidate: c.Candidate, Round: 1, Draw: 1, Passed: c.Status == Accepted, Family: string(c.Family), Gates: x.reports[i].Gates}
		f := folder(filepath.Join(x.Dir, "attempts", fmt.Sprintf("%04d", c.Candidate), "01"))
		if err := f.writeJSON(reportFile, j); err != nil {
			return err
		}
		if c.Status != Accepted {
			continue
		}
		family, _ := x.source.Family(c.Family)
		p := Provenance{Version: Version, Family: string(c.Family), Digest: family.Digest, Program: x.Program, Engine: Pattern, Seed: x.source.Seed, Candidate: c.Candidate, Round: 1}
		p.Gates, p.Skipped = askedGates(x.reports[i].Gates)
		if err := folder(filepath.Join(x.Dir, familiesDir, string(c.Family))).writeJSON(provenanceFile, p); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(x.Dir, journalFile), journal.Bytes())
}

// askedGates parts the gates that were asked from those that nobody could ask.
func askedGates(gates []validate.Result) (asked, skipped []string) {
	for _, g := range gates {
		if g.Skipped != "" {
			skipped = append(skipped, g.Name)
		} else {
			asked = append(asked, g.Name)
		}
	}
	return asked, skipped
}

// judge holds one family against the gates that need no other candidate.
func (x *variation) judge(ctx context.Context, i int, f suite.Further) error {
	c := Candidate{Version: Version, Candidate: i + 1, Status: GivenUp, Class: f.Class, Family: f.ID, Draws: 1, Rounds: 1}
	x.states[i] = c
	if len(f.Problems) > 0 {
		x.reports[i] = validate.Unreadable(messagesOf(f.Problems)...)
		x.tell(c, "failed: format")
		return nil
	}
	family, ok := x.source.Family(f.ID)
	if !ok {
		return fmt.Errorf("family %s was built and is not in the suite", f.ID)
	}
	dir, err := os.MkdirTemp("", "agentbound-vary-")
	if err != nil {
		return err
	}
	one := suite.Suite{Name: "one", Seed: x.source.Seed, Families: []agentbound.Family{*family}}
	folder := filepath.Join(dir, "suite")
	err = one.Write(folder)
	var report validate.Report
	if err == nil {
		report, _, err = validate.Validator{Screen: x.Screen}.Check(ctx, os.DirFS(filepath.Join(folder, familiesDir, string(f.ID))), validate.Wanted{})
	}
	x.reports[i] = report
	return errors.Join(err, os.RemoveAll(dir))
}

// accept takes what passed and is unlike all that was taken before, in the order of the
// candidates.
func (x *variation) accept(further []suite.Further) (accepted []agentbound.Family) {
	for i, f := range further {
		c, report := &x.states[i], &x.reports[i]
		if len(f.Problems) == 0 {
			family, _ := x.source.Family(f.ID)
			report.Set(validate.Validator{Index: x.index}.Novel(family, ""))
			if report.Passed() {
				c.Status = Accepted
				x.index.Add(family)
				accepted = append(accepted, *family)
				x.tell(*c, "accepted: "+string(f.ID))
				continue
			}
			x.tell(*c, "failed: "+joined(report.Failed()))
		}
		c.Failed = slices.Clone(report.Failed())
	}
	return accepted
}

func (x *variation) tell(c Candidate, what string) {
	if x.Observe == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Observe(Event{c.Candidate, 1, what})
}

func messagesOf(ps suite.Problems) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.Error()
	}
	return out
}
