package star

import (
	"math"
	"math/big"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"github.com/agentbound/agentbound"
)

// scalars are JSON values without parts, the awkward ones among them.
func scalars() *rapid.Generator[starlark.Value] {
	return rapid.OneOf(
		rapid.Just[starlark.Value](starlark.None),
		rapid.Map(rapid.Bool(), func(b bool) starlark.Value { return starlark.Bool(b) }),
		rapid.Map(rapid.Int64(), func(i int64) starlark.Value { return starlark.MakeInt64(i) }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) starlark.Value { return starlark.MakeBigInt(new(big.Int).SetBytes(b)) }),
		rapid.Map(rapid.Float64(), func(f float64) starlark.Value {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				f = math.Copysign(0, -1)
			}
			return starlark.Float(f)
		}),
		rapid.Map(rapid.Float64Range(-1e6, 1e6), func(f float64) starlark.Value { return starlark.Float(math.Round(f)) }),
		rapid.Map(texts(), func(s string) starlark.Value { return starlark.String(s) }),
	)
}

func texts() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z~/ ]{0,6}`),
		rapid.SampledFrom([]string{"", "<>&", "\u2028\u2029", "\x00\x1f\x7f", "a\"b\\c", "ü", "\U0001F600", "\uFFFD", "-", "0", "01"}))
}

// trees are JSON values nested up to depth.
func trees(depth int) *rapid.Generator[starlark.Value] {
	if depth == 0 {
		return scalars()
	}
	return rapid.OneOf(scalars(), rapid.Map(rapid.SliceOfN(trees(depth-1), 0, 5), func(elems []starlark.Value) starlark.Value {
		return starlark.NewList(elems)
	}), objects(depth))
}

func objects(depth int) *rapid.Generator[starlark.Value] {
	return rapid.Custom(func(t *rapid.T) starlark.Value {
		d := starlark.NewDict(0)
		for range rapid.IntRange(0, 5).Draw(t, "keys") {
			if err := d.SetKey(starlark.String(texts().Draw(t, "key")), trees(depth-1).Draw(t, "value")); err != nil {
				t.Fatal(err)
			}
		}
		return d
	})
}

func encode(t testing.TB, v starlark.Value) agentbound.Value {
	t.Helper()
	enc, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

func state(t testing.TB, text string) State {
	t.Helper()
	s, err := DecodeState(agentbound.Value(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// textOf is the canonical JSON of a state.
func textOf(t testing.TB, s State) string {
	t.Helper()
	v, err := s.Value()
	if err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func kit(t testing.TB, text string) *Kit {
	t.Helper()
	k, err := LoadKit([]agentbound.Source{{Name: "t.star", Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}
