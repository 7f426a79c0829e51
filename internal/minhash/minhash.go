// Package minhash estimates how much two sets share, so that near-duplicates can be
// found among many texts. It is pure: equal input gives equal signatures, on every
// machine and in every version.
package minhash

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
)

// Permutations is the number of hash functions of a signature. The standard error
// of a similarity J is √(J(1-J)/128), at most 0.044.
const Permutations = 128

// Words is the usual length of a shingle of prose.
const Words = 5

// Set holds the hashes of a set's elements, sorted and each once.
type Set []uint64

// Shingles are the runs of n successive tokens, as a set. Fewer than n tokens make
// one shingle, no token makes the empty set. n must be positive.
func Shingles(tokens []string, n int) Set {
	if len(tokens) == 0 {
		return nil
	}
	n = min(n, len(tokens))
	set := make(Set, 0, len(tokens)-n+1)
	for i := range len(tokens) - n + 1 {
		h := fnv.New64a()
		for _, t := range tokens[i : i+n] {
			_, _ = h.Write([]byte(t)) // a hash never fails
			_, _ = h.Write([]byte{0})
		}
		set = append(set, h.Sum64())
	}
	return set.Union(nil)
}

// Tokens are the words of a text in lower case. A word with a digit counts as "0",
// so that another number or record id does not hide a copy.
func Tokens(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' })
	for i, w := range words {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			words[i] = "0"
		}
	}
	return words
}

// Text is the set of a text's five-word shingles.
func Text(s string) Set { return Shingles(Tokens(s), Words) }

// Union is the set of what is in either.
func (s Set) Union(t Set) Set {
	all := slices.Concat(s, t)
	slices.Sort(all)
	return slices.Compact(all)
}

// Jaccard is |s ∩ t| / |s ∪ t| exactly; 0 where either is empty, since nothing
// then speaks for a copy.
func Jaccard(s, t Set) float64 {
	if len(s) == 0 || len(t) == 0 {
		return 0
	}
	shared := len(s) + len(t) - len(s.Union(t))
	return float64(shared) / float64(len(s)+len(t)-shared)
}

// Signature stands for a set: for each hash function the least value of an element.
type Signature struct {
	least [Permutations]uint64
	empty bool
}

// prime is the Mersenne prime 2⁶¹-1, the modulus of the hash functions.
const prime = 1<<61 - 1

// functions are the coefficients of x ↦ (a·x + b) mod prime, fixed for ever.
var functions = func() (f [Permutations]struct{ a, b uint64 }) {
	rng := rand.New(rand.NewPCG(0x6d696e68, 0x617368))
	for i := range f {
		f[i].a, f[i].b = 1+rng.Uint64N(prime-1), rng.Uint64N(prime)
	}
	return f
}()

// Sign makes the signature of a set. Source: A. Z. Broder, On the resemblance and
// containment of documents, SEQUENCES 1997; hash functions after Carter and Wegman,
// JCSS 18 (1979) 143–154.
func Sign(s Set) Signature {
	sig := Signature{empty: len(s) == 0}
	for i := range sig.least {
		sig.least[i] = prime
	}
	for _, x := range s {
		x = reduce(0, x)
		for i, f := range functions {
			hi, lo := bits.Mul64(f.a, x)
			lo, carry := bits.Add64(lo, f.b, 0)
			sig.least[i] = min(sig.least[i], reduce(hi+carry, lo))
		}
	}
	return sig
}

// reduce is the 128-bit number (hi, lo) modulo prime; hi is under 2⁶⁰.
func reduce(hi, lo uint64) uint64 {
	v := lo&prime + (hi<<3 | lo>>61)
	v = v&prime + v>>61
	if v >= prime {
		v -= prime
	}
	return v
}

// Similarity estimates the Jaccard index of the two sets: the share of hash functions
// whose least values agree; 0 where either set is empty.
func (s *Signature) Similarity(t *Signature) float64 {
	if s.empty || t.empty {
		return 0
	}
	same := 0
	for i, v := range s.least {
		if v == t.least[i] {
			same++
		}
	}
	return float64(same) / Permutations
}
