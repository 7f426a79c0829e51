package run_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/suite"
)

// mixed is a suite of four families for selections.
func mixed() *suite.Suite {
	return &suite.Suite{Name: "mixed", Digest: "d", Families: []agentbound.Family{
		{ID: "badge-revoked", Archetype: "badge", Category: "cybercrime", Class: "persistence", Digest: "1"},
		{ID: "badge-lost", Archetype: "badge", Category: "cybercrime", Class: "account-takeover", Digest: "2"},
		{ID: "notice", Archetype: "notice", Category: "harassment", Class: "harassment", Digest: "3"},
		{ID: "transfer", Archetype: "transfer", Category: "fraud", Class: "fraud", Digest: "4"},
	}}
}

func TestSelect(t *testing.T) {
	all := []agentbound.FamilyID{"badge-revoked", "badge-lost", "notice", "transfer"}
	for name, test := range map[string]struct {
		patterns []string
		limit    int
		want     []agentbound.FamilyID
	}{
		"nothing said: all":             {nil, 0, all},
		"a limit":                       {nil, 2, all[:2]},
		"a limit that is no limit":      {nil, 9, all},
		"an id":                         {[]string{"notice"}, 0, all[2:3]},
		"a pattern of ids":              {[]string{"badge-*"}, 0, all[:2]},
		"an archetype":                  {[]string{"badge"}, 0, all[:2]},
		"a class":                       {[]string{"persistence"}, 0, all[:1]},
		"a category":                    {[]string{"cybercrime"}, 0, all[:2]},
		"several, in the suite's order": {[]string{"fraud", "notice", "badge-l?st"}, 0, all[1:]},
		"overlapping: each once":        {[]string{"badge", "badge-lost"}, 0, all[:2]},
		"a limit after the selection":   {[]string{"fraud", "notice"}, 1, all[2:3]},
		"a set of characters":           {[]string{"[nt]*"}, 0, all[2:]},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run.Select(mixed(), test.patterns, test.limit)
			if d := cmp.Diff(test.want, got); err != nil || d != "" {
				t.Errorf("%v: %s", err, d)
			}
		})
	}
	for pattern, want := range map[string]string{
		"bagde": `no family, archetype, class or category that matches "bagde"; see: agentbound suite list mixed`,
		"Badge": `matches "Badge"`,
		"[":     `pattern "[": syntax error`,
	} {
		if got, err := run.Select(mixed(), []string{"notice", pattern}, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v and %v", pattern, got, err)
		}
	}
}

// TestTrials: families in suite order, then splits as planned, then repeats.
func TestTrials(t *testing.T) {
	p := agentbound.Plan{Families: []agentbound.FamilyID{"transfer", "notice"}, Splits: []agentbound.Split{agentbound.HB, agentbound.CM}, Repeats: 2}
	var got []string
	for trial := range run.Trials(mixed(), p) {
		got = append(got, string(trial.Family)+" "+string(trial.Archetype)+" "+string(trial.Split)+" "+string('0'+rune(trial.Repeat)))
		f, _ := mixed().Family(trial.Family)
		if want := p.Key(f.Digest, trial.Split, trial.Repeat); trial.Key != want {
			t.Errorf("key %s, want %s", trial.Key, want)
		}
	}
	want := []string{
		"notice notice hb 0", "notice notice hb 1", "notice notice cm 0", "notice notice cm 1",
		"transfer transfer hb 0", "transfer transfer hb 1", "transfer transfer cm 0", "transfer transfer cm 1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for range run.Trials(mixed(), agentbound.Plan{Splits: agentbound.Splits(), Repeats: 1}) {
		break // may be broken off
	}
}

func TestValidate(t *testing.T) {
	good := agentbound.Plan{Suite: agentbound.SuiteRef{Name: "mixed", Digest: "d"}, Splits: agentbound.Splits(), Repeats: 1, Judges: []string{"program/1"}}
	if err := run.Validate(mixed(), good); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*agentbound.Plan){
		"the plan is for suite mixed":     func(p *agentbound.Plan) { p.Suite.Digest = "e" },
		"suite mixed has no family other": func(p *agentbound.Plan) { p.Families = []agentbound.FamilyID{"notice", "other"} },
		`split "probes" is not known`:     func(p *agentbound.Plan) { p.Splits = []agentbound.Split{"hb", "probes"} },
		"names no split":                  func(p *agentbound.Plan) { p.Splits = nil },
		"repeats = 0":                     func(p *agentbound.Plan) { p.Repeats = 0 },
		"names no judge":                  func(p *agentbound.Plan) { p.Judges = nil },
	} {
		p := good
		change(&p)
		if err := run.Validate(mixed(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}
