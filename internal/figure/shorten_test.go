package figure

import (
	"strings"
	"testing"
)

// TestShortenAll: what is left out of a long name is of the agent, and no two names that are
// not the same read alike.
func TestShortenAll(t *testing.T) {
	const agent = "compat:Qwen3.5-397B-A17B-FP8-instruct@http://127.0.0.1:8123/v1"
	p := pen{size: labelSize}
	for name, names := range map[string][]string{
		"interventions": {agent, agent + " + aligner-x", agent + " + aligner-y (closed)"},
		"long ones":     {agent, agent + " + aligner:compat:a-long-name-of-a-model@http://127.0.0.1:8123/v1", agent + " + placebo"},
		"alike but for the middle": {
			agent + " + aligner:compat:one-model-with-a-very-long-name-1-of-the-whole-house@http://127.0.0.1:8123/v1",
			agent + " + aligner:compat:one-model-with-a-very-long-name-2-of-the-whole-house@http://127.0.0.1:8123/v1",
		},
		"short": {"reference:wary", "reference:wary + placebo"},
	} {
		seen := map[string]bool{}
		for i, got := range p.shortenAll(names, 150) {
			if seen[got] {
				t.Errorf("%s: two read %q", name, got)
			}
			seen[got] = true
			if p.width(names[i]) <= 150 && got != names[i] {
				t.Errorf("%s: %q fits and became %q", name, names[i], got)
			}
			if _, intervention, ok := strings.Cut(names[i], " + "); ok && p.width(intervention) < 90 && !strings.HasSuffix(got, " + "+intervention) {
				t.Errorf("%s: %q lost its intervention: %q", name, names[i], got)
			}
			if name != "alike but for the middle" && p.width(got) > 151 {
				t.Errorf("%s: %q is %.0f wide", name, got, p.width(got))
			}
		}
	}
}
