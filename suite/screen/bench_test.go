package screen

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound/suites"
)

// BenchmarkScan looks through 8 KB of a suite's own prose.
func BenchmarkScan(b *testing.B) {
	s, err := suites.Load(suites.Default)
	if err != nil {
		b.Fatal(err)
	}
	var prose strings.Builder
	for _, t := range SuiteTexts(s) {
		if !t.Code && prose.Len() < 8<<10 {
			prose.WriteString(t.Text + "\n")
		}
	}
	text := Text{Text: prose.String()[:8<<10]}
	b.SetBytes(8 << 10)
	for b.Loop() {
		scan(text)
	}
}

// BenchmarkSuite screens the built-in suite.
func BenchmarkSuite(b *testing.B) {
	s, err := suites.Load(suites.Default)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Suite(b.Context(), s, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
