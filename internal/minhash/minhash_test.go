package minhash_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/internal/minhash"
)

// TestSimilarity compares with the exact Jaccard similarity of two runs of numbers.
func TestSimilarity(t *testing.T) {
	h := minhash.New(128, 1)
	numbers := func(from, to int) []string {
		var out []string
		for i := from; i < to; i++ {
			out = append(out, fmt.Sprint("item ", i))
		}
		return out
	}
	for shift := 0; shift <= 400; shift += 50 {
		a, b := h.Sketch(numbers(0, 400)), h.Sketch(numbers(shift, 400+shift))
		exact := float64(400-shift) / float64(400+shift)
		if got := minhash.Similarity(a, b); math.Abs(got-exact) > 0.14 { // three standard errors
			t.Errorf("shifted by %d: %.3f, exactly %.3f", shift, got, exact)
		}
	}
	if got := minhash.Similarity(h.Sketch(nil), h.Sketch(nil)); got != 0 {
		t.Errorf("two empty sets: %v", got)
	}
}

func TestShingles(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		" … ":                     nil,
		"One":                     {"one"},
		"Send X-118, then log it": {"send x 118", "x 118 then", "118 then log", "then log it"},
	} {
		if d := cmp.Diff(want, minhash.Shingles(text, 3)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}
