package suite

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	wholeNumber   = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	decimalNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?$`)
	leadingZero   = regexp.MustCompile(`^[-+]?0[0-9_]+$`)
	based         = regexp.MustCompile(`^[-+]?0[xob][0-9a-fA-F_]+$`)
	loose         = regexp.MustCompile(`^[-+]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?$`)
	special       = regexp.MustCompile(`^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$`)
)

// plainScalar types an unquoted scalar. Where readers of YAML 1.1 and 1.2 disagree,
// or JSON has no such value, why says so. Dates and times are text.
func plainScalar(s string) (k kind, canonical, why string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return null, "", ""
	case "true", "True", "TRUE":
		return boolean, "true", ""
	case "false", "False", "FALSE":
		return boolean, "false", ""
	}
	switch strings.ToLower(s) {
	case "yes", "no", "on", "off":
		return text, s, "some readers take it for true or false; write true or false where it is meant so"
	}
	switch {
	case wholeNumber.MatchString(s):
		return integer, s, ""
	case decimalNumber.MatchString(s):
		if f, err := strconv.ParseFloat(s, 64); err != nil || math.IsInf(f, 0) {
			return float, "0.0", "the number is too large"
		}
		return float, s, ""
	case leadingZero.MatchString(s):
		return text, s, "some readers take the leading zero for octal"
	case based.MatchString(s):
		return text, s, "some readers take it for a number; write the number in decimals"
	case special.MatchString(s):
		return text, s, "JSON has no such number"
	case loose.MatchString(s):
		return text, s, "readers disagree whether it is a number; write it like 1000 or 1000.0"
	}
	return text, s, ""
}
