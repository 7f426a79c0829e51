package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Parse reads an amount: usd=5, tokens=2M, both with a comma between them, or 5usd, $5
// and 2Mtokens for short. Tokens may end in k, M or G.
func Parse(s string) (Amount, error) {
	var a Amount
	if strings.TrimSpace(s) == "" {
		return a, wanted(s)
	}
	for _, part := range strings.Split(s, ",") {
		unit, value := split(strings.ToLower(strings.TrimSpace(part)))
		switch {
		case unit == "usd" && a.USD == 0:
			x, err := strconv.ParseFloat(value, 64)
			if err != nil || !(x > 0) || math.IsInf(x, 0) {
				return Amount{}, wanted(s)
			}
			a.USD = x
		case unit == "tokens" && a.Tokens == 0:
			n, ok := tokens(value)
			if !ok {
				return Amount{}, wanted(s)
			}
			a.Tokens = n
		default:
			return Amount{}, wanted(s)
		}
	}
	return a, nil
}

func wanted(s string) error {
	return fmt.Errorf("budget %q: want money, tokens or both, above 0, such as usd=5, tokens=2M or usd=5,tokens=2M", s)
}

// split takes a part into its unit and its value.
func split(part string) (unit, value string) {
	if unit, value, ok := strings.Cut(part, "="); ok {
		return strings.TrimSpace(unit), strings.TrimSpace(value)
	}
	for _, unit := range []string{"usd", "tokens"} {
		if value, ok := strings.CutSuffix(part, unit); ok {
			return unit, strings.TrimSpace(value)
		}
	}
	if value, ok := strings.CutPrefix(part, "$"); ok {
		return "usd", value
	}
	return "", part
}

// Count reads a whole number from 1 that may end in k, M or G.
func Count(value string) (int64, bool) { return tokens(strings.ToLower(strings.TrimSpace(value))) }

func tokens(value string) (int64, bool) {
	factor := 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "m": 1e6, "g": 1e9} {
		if v, ok := strings.CutSuffix(value, suffix); ok {
			value, factor = v, f
			break
		}
	}
	x, err := strconv.ParseFloat(value, 64)
	if x *= factor; err != nil || !(x >= 1 && x <= 1e15) || x != math.Trunc(x) {
		return 0, false
	}
	return int64(x), true
}
