// Package minhash estimates how much two texts have in common: MinHash over shingles
// (Broder, "On the resemblance and containment of documents", 1997).
package minhash

import (
	"hash/fnv"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"unicode"
)

// prime is 2⁶¹ − 1, over which the permutations are linear functions.
const prime = 1<<61 - 1

// Hasher holds the permutations. Signatures compare only where one Hasher, or two of
// the same make, gave them.
type Hasher struct{ a, b []uint64 }

// Signature is a sketch of a set: for each permutation the least value in it.
type Signature []uint64

// New draws the permutations. The standard error of a similarity s is
// √(s(1−s)/perms): at most 0.045 with 128.
func New(perms int, seed uint64) *Hasher {
	rng := rand.New(rand.NewPCG(seed, 0x6d696e68617368))
	h := &Hasher{make([]uint64, perms), make([]uint64, perms)}
	for i := range perms {
		h.a[i], h.b[i] = 1+rng.Uint64N(prime-1), rng.Uint64N(prime)
	}
	return h
}

// Sketch gives the signature of a set of shingles; repetitions do not count.
func (h *Hasher) Sketch(shingles []string) Signature {
	s := make(Signature, len(h.a))
	for i := range s {
		s[i] = math.MaxUint64
	}
	for _, text := range shingles {
		f := fnv.New64a()
		_, _ = f.Write([]byte(text))
		x := f.Sum64() % prime
		for i := range s {
			hi, lo := bits.Mul64(h.a[i], x)
			_, rest := bits.Div64(hi%prime, lo, prime)
			s[i] = min(s[i], (rest+h.b[i])%prime)
		}
	}
	return s
}

// Similarity estimates the Jaccard similarity of two sets: the share of permutations
// whose least values agree. Empty sets are similar to nothing.
func Similarity(a, b Signature) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return 0
	}
	same := 0
	for i := range a {
		if a[i] == b[i] && a[i] != math.MaxUint64 {
			same++
		}
	}
	return float64(same) / float64(len(a))
}

// Shingles are the runs of n words of a text, in lower case and without punctuation;
// the whole of a shorter one.
func Shingles(text string, n int) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return nil
	}
	if len(words) <= n {
		return []string{strings.Join(words, " ")}
	}
	out := make([]string, 0, len(words)-n+1)
	for i := range len(words) - n + 1 {
		out = append(out, strings.Join(words[i:i+n], " "))
	}
	return out
}
