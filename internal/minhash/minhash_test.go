package minhash_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/internal/minhash"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                  {},
		"Pay INV-5093, at once!":            {"pay", "0", "at", "once"},
		"a.b@c.example, über-kurz; L'Étang": {"a", "b", "c", "example", "über-kurz", "l", "étang"},
		"read_file(12) … 12.50":             {"read_file", "0", "0", "0"},
	} {
		got := minhash.Tokens(text)
		if len(got) == 0 && len(want) == 0 {
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func TestShingles(t *testing.T) {
	for _, c := range []struct {
		tokens string
		n      int
		want   int
	}{{"", 5, 0}, {"a b", 5, 1}, {"a b c d e", 5, 1}, {"a b c d e f", 5, 2}, {"a a a a a a a", 5, 1}, {"a b a b a", 2, 2}, {"a b a", 1, 2}} {
		if got := len(minhash.Shingles(strings.Fields(c.tokens), c.n)); got != c.want {
			t.Errorf("%q in runs of %d: %d shingles, want %d", c.tokens, c.n, got, c.want)
		}
	}
	if cmp.Equal(minhash.Shingles([]string{"ab", "c"}, 2), minhash.Shingles([]string{"a", "bc"}, 2)) {
		t.Error("where a word ends makes no difference")
	}
}

// Exact values: |∩| / |∪| counted by hand.
func TestJaccard(t *testing.T) {
	set := func(s string) minhash.Set { return minhash.Shingles(strings.Fields(s), 1) }
	for _, c := range []struct {
		a, b string
		want float64
	}{{"a b c", "b c d", 0.5}, {"a", "a", 1}, {"a b", "c", 0}, {"", "", 0}, {"", "a", 0}, {"a b c d", "a", 0.25}} {
		if got := minhash.Jaccard(set(c.a), set(c.b)); got != c.want {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestEstimate: over many pairs of known similarity the estimate has the mean and the
// spread of a binomial share of 128.
func TestEstimate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, want := range []float64{0, 0.1, 0.5, 0.9, 1} {
		const pairs, size = 200, 400
		var sum, squares float64
		for range pairs {
			shared := int(math.Round(want * 2 * size / (1 + want)))
			var a, b []string
			for range shared {
				e := fmt.Sprint("s", rng.Uint64())
				a, b = append(a, e), append(b, e)
			}
			for range size - shared {
				a, b = append(a, fmt.Sprint("a", rng.Uint64())), append(b, fmt.Sprint("b", rng.Uint64()))
			}
			sa, sb := minhash.Shingles(a, 1), minhash.Shingles(b, 1)
			x, y := minhash.Sign(sa), minhash.Sign(sb)
			d := x.Similarity(&y) - minhash.Jaccard(sa, sb)
			sum += d
			squares += d * d
		}
		spread := math.Sqrt(want * (1 - want) / minhash.Permutations)
		if mean := sum / pairs; math.Abs(mean) > 4*spread/math.Sqrt(pairs)+1e-12 {
			t.Errorf("J = %v: off by %v on average", want, mean)
		}
		if got := math.Sqrt(squares / pairs); math.Abs(got-spread) > 0.2*spread+1e-12 {
			t.Errorf("J = %v: spread %v, want %v", want, got, spread)
		}
	}
}

func TestNearCopy(t *testing.T) {
	a := minhash.Text("Please send the file A-1 to Northwind before Friday and write it into the register under their agreement.")
	b := minhash.Text("Please send the file B-77 to Northwind before Friday and write it into the register under their agreement!")
	c := minhash.Text("Could you overwrite the volumes of the list one after the other as they come up, and file the certificate?")
	x, y, z := minhash.Sign(a), minhash.Sign(b), minhash.Sign(c)
	if got := x.Similarity(&y); got != 1 {
		t.Errorf("a copy with another id: similarity %v", got)
	}
	if got := x.Similarity(&z); got != 0 {
		t.Errorf("another text: similarity %v", got)
	}
	e := minhash.Sign(nil)
	if e.Similarity(&e) != 0 {
		t.Error("two empty texts are no copies")
	}
}

// TestGolden: signatures must not change between versions, or stored ones mislead.
func TestGolden(t *testing.T) {
	a, b := minhash.Text("one two three four five six seven"), minhash.Text("one two three four five six eight")
	x, y := minhash.Sign(a), minhash.Sign(b)
	if got, want := x.Similarity(&y), 0.5390625; math.Abs(got-minhash.Jaccard(a, b)) > 0.15 || got != want {
		t.Errorf("similarity %v, want %v (exactly %v)", got, want, minhash.Jaccard(a, b))
	}
}

func FuzzText(f *testing.F) {
	f.Add("Please send it.", "Please send it now, all of it.")
	f.Fuzz(func(t *testing.T, s, u string) {
		a, b := minhash.Text(s), minhash.Text(u)
		x, y := minhash.Sign(a), minhash.Sign(b)
		j := x.Similarity(&y)
		if j != y.Similarity(&x) || j < 0 || j > 1 {
			t.Errorf("similarity %v and %v", j, y.Similarity(&x))
		}
		if len(a) > 0 && x.Similarity(&x) != 1 {
			t.Error("a text is not like itself")
		}
		if exact := minhash.Jaccard(a, b); exact == 1 && j != 1 || exact == 0 && j > 0.1 {
			t.Errorf("estimate %v of %v", j, exact)
		}
	})
}
