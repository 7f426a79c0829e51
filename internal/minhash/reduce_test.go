package minhash

import (
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestReduce compares the modulus by shifts with that of math/big.
func TestReduce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	xs := []uint64{0, 1, prime - 1, prime, prime + 1, 1<<64 - 1}
	for range 1000 {
		xs = append(xs, rng.Uint64())
	}
	m := new(big.Int).SetUint64(prime)
	for _, x := range xs {
		a, b := 1+rng.Uint64N(prime-1), rng.Uint64N(prime)
		reduced := reduce(0, x)
		hi, lo := bits.Mul64(a, reduced)
		lo, carry := bits.Add64(lo, b, 0)
		want := new(big.Int).SetUint64(x)
		want.Mod(want.Add(want.Mul(want, new(big.Int).SetUint64(a)), new(big.Int).SetUint64(b)), m)
		if got := reduce(hi+carry, lo); got != want.Uint64() {
			t.Fatalf("(%d·%d + %d) mod p = %d, want %s", a, x, b, got, want)
		}
	}
}
