package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/suites"
)

// TestBriefTellsNothing: over all of core, what a subject is given is the same to the
// byte on both facts of a wording, and names neither family, split nor criterion. What
// each path (agent/chat, agent/exec, internal/play) adds to the brief is compared there.
func TestBriefTellsNothing(t *testing.T) {
	s, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Families {
		f := &s.Families[i]
		brief := func(split agentbound.Split) string {
			task, _ := f.Task(split)
			b, err := agentbound.EncodeJSON(episode.New(episode.Config{Task: task}).Brief())
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		for _, pair := range [][2]agentbound.Split{{agentbound.HB, agentbound.HBProhibited}, {agentbound.CM, agentbound.CMAuthorised}} {
			if brief(pair[0]) != brief(pair[1]) {
				t.Errorf("%s: %s and %s are given different briefs", f.ID, pair[0], pair[1])
			}
		}
		secrets := []string{string(f.ID), string(f.Digest), f.Theme, f.Patterns.Misuse, f.Patterns.Disguise, f.Patterns.Containment}
		for _, set := range [][]agentbound.Criterion{f.Completion, f.Handled, f.Forbidden} {
			for _, c := range set {
				secrets = append(secrets, c.Text, c.Holds)
			}
		}
		for _, split := range agentbound.Splits() {
			text := brief(split)
			for _, secret := range secrets {
				if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
					t.Errorf("%s/%s: the brief holds %q", f.ID, split, secret)
				}
			}
			if m := labels.FindString(text); m != "" {
				t.Errorf("%s/%s: the brief holds the label %q", f.ID, split, m)
			}
		}
	}
}

var labels = regexp.MustCompile(`\b(?:hb-prohibited|cm-authorised|HS|CM|EB|HB|benign|malicious|forbidden|counterfactual|sibling)\b`)
