package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound/internal/star"
)

// Expressions let a proposal name what it does not work out itself: an object with one
// member that begins with $ stands for the value that code puts in its place. They are
// objects and never parts of texts, so that nothing a subject or a record says can be
// taken for one.
//
//	{"$arg": "amount"}                the call's argument, or a field of it: "party.name"
//	{"$state": "/records/R-1/title"}  what stands there; in the observation, after the patch
//	{"$new": 1}                       the first new id of this answer
//	{"$new": 1, "like": "T-"}         a new id that no record holds, only the observation
//	{"$count": "/records"}            how many; also of a list that is written out
//	{"$sum": [a, b, …]} {"$product": [a, b, …]} {"$difference": [a, b]}
//	{"$quotient": [a, b]} {"$remainder": [a, b]}   as // and % in Starlark
//	{"$text": ["R-1 of ", {"$count": "/records"}]} texts and values put together
func expression(m map[string]any) (name string, ok bool) {
	for k := range m {
		if strings.HasPrefix(k, "$") {
			return k, true
		}
	}
	return "", false
}

// eval gives the value of a proposal's tree. Literal numbers and ids are checked: what is
// neither given nor known is to be computed by an expression.
func (r *resolver) eval(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if !r.knows(v) {
			return nil, fmt.Errorf("the number %s stands neither in the arguments nor in the state: numbers are worked out by code; write it as an expression, such as {\"$sum\": […]} or {\"$count\": …}", clip(string(v)))
		}
	case string:
		for _, id := range r.rules.tokensOf(v) {
			if !r.named(id) {
				return nil, fmt.Errorf("the id %s is not known: ids are given by code; write {\"$new\": 1} for a new one", clip(id))
			}
		}
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			var err error
			if out[i], err = r.eval(x); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if name, ok := expression(v); ok {
			return r.compute(name, v)
		}
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			x, err := r.eval(v[k])
			if err != nil {
				return nil, err
			}
			out[k] = x
		}
		return out, nil
	}
	return v, nil
}

func (r *resolver) compute(name string, m map[string]any) (any, error) {
	accepted := []string{name}
	if name == "$new" {
		accepted = append(accepted, "like")
	}
	if err := members("the expression "+clip(name), m, accepted...); err != nil {
		return nil, err
	}
	x := m[name]
	switch name {
	case "$arg":
		return r.argument(x)
	case "$state":
		return r.standing(x)
	case "$new":
		return r.fresh(x, m["like"])
	case "$count":
		return r.count(x)
	case "$text":
		return r.text(x)
	case "$sum", "$product", "$difference", "$quotient", "$remainder":
		return r.arithmetic(name, x)
	}
	return nil, fmt.Errorf("the expression %s is not known; accepted: $arg, $state, $new, $count, $sum, $difference, $product, $quotient, $remainder, $text", clip(name))
}

func (r *resolver) argument(x any) (any, error) {
	name, ok := x.(string)
	if !ok {
		return nil, errors.New(`$arg takes the name of an argument, as in {"$arg": "amount"}`)
	}
	v, err := at(r.args, strings.Split(name, "."))
	if err != nil {
		return nil, fmt.Errorf("$arg %q: the call has no such argument; its arguments are %s", clip(name), listed(slices.Sorted(maps.Keys(r.args.(map[string]any)))))
	}
	return r.copied(v)
}

func (r *resolver) standing(x any) (any, error) {
	pointer, ok := x.(string)
	if !ok {
		return nil, errors.New(`$state takes a path, as in {"$state": "/records/R-1/title"}`)
	}
	segments, err := split(pointer)
	if err != nil {
		return nil, err
	}
	if err := r.reaches(segments); err != nil {
		return nil, err
	}
	v, err := at(r.work, segments)
	if err != nil {
		return nil, err
	}
	return r.copied(v)
}

// maxNamed bounds what the expressions of one answer may bring in, in bytes: a few bytes
// that name a place can stand for much, and a patch could double it with each operation.
const maxNamed = 8 * maxShown

// copied is a copy of what an expression names.
func (r *resolver) copied(v any) (any, error) {
	if err := r.bring(v); err != nil {
		return nil, err
	}
	return clone(v), nil
}

// bring counts a value among those that an answer's expressions brought in.
func (r *resolver) bring(v any) error {
	r.brought += weight(v, maxNamed-r.brought)
	if r.brought > maxNamed {
		return fmt.Errorf("the answer names more than %d bytes with its expressions; at most that many are taken", maxNamed)
	}
	return nil
}

// weight is about how many bytes a value has; it stops counting beyond most.
func weight(v any, most int) int {
	const each = 8 // of a value, whatever it is
	n := each
	switch v := v.(type) {
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	case []any:
		for _, x := range v {
			if n > most {
				break
			}
			n += weight(x, most-n)
		}
	case map[string]any:
		for k, x := range v {
			if n > most {
				break
			}
			n += len(k) + weight(x, most-n)
		}
	}
	return n
}

func (r *resolver) count(x any) (any, error) {
	v, err := r.operand(x)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		return json.Number(strconv.Itoa(len(v))), nil
	case map[string]any:
		return json.Number(strconv.Itoa(len(v))), nil
	}
	return nil, fmt.Errorf("$count takes a path to a list or table, or a list; found %s", article(kindOf(v)))
}

// operand is a path, or a value.
func (r *resolver) operand(x any) (any, error) {
	if s, ok := x.(string); ok && strings.HasPrefix(s, "/") {
		return r.standing(s)
	}
	return r.eval(x)
}

func (r *resolver) text(x any) (any, error) {
	parts, ok := x.([]any)
	if !ok {
		return nil, errors.New(`$text takes a list of texts and expressions`)
	}
	var b strings.Builder
	for _, part := range parts {
		v, err := r.eval(part)
		if err != nil {
			return nil, err
		}
		if err := r.bring(v); err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case string:
			b.WriteString(v)
		case json.Number:
			b.WriteString(string(v))
		default:
			return nil, fmt.Errorf("$text puts texts and numbers together; found %s", article(kindOf(v)))
		}
	}
	return b.String(), nil
}

func (r *resolver) arithmetic(name string, x any) (any, error) {
	items, ok := x.([]any)
	if !ok || len(items) == 0 && name != "$sum" || len(items) != 2 && name != "$sum" && name != "$product" {
		return nil, fmt.Errorf("%s takes a list of numbers%s", name, map[bool]string{true: "", false: ", two of them"}[name == "$sum" || name == "$product"])
	}
	total := json.Number(map[bool]string{true: "1", false: "0"}[name == "$product"])
	for i, item := range items {
		v, err := r.operand(item)
		if err != nil {
			return nil, err
		}
		n, ok := v.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s takes numbers; found %s", name, article(kindOf(v)))
		}
		if i == 0 {
			total = n
			continue
		}
		if total, err = calculate(name, total, n); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// calculate works on integers exactly and on floats as Starlark does.
func calculate(name string, a, b json.Number) (json.Number, error) {
	zero := amount(b) == "0"
	if zero && (name == "$quotient" || name == "$remainder") {
		return "", fmt.Errorf("%s by 0", name)
	}
	if isInteger(a) && isInteger(b) {
		x, okX := new(big.Int).SetString(string(a), 10)
		y, okY := new(big.Int).SetString(string(b), 10)
		if !okX || !okY || len(a)+len(b) > maxDigits {
			return "", fmt.Errorf("%s of numbers that are too long", name)
		}
		return json.Number(integers(name, x, y).String()), nil
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	if err := errors.Join(errX, errY); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	f := floats(name, x, y)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "", fmt.Errorf("%s of numbers that are too large", name)
	}
	v, err := star.Canonical(f)
	return json.Number(v), err
}

// maxDigits bounds the operands of a calculation.
const maxDigits = 200

func integers(name string, x, y *big.Int) *big.Int {
	z := new(big.Int)
	switch name {
	case "$sum":
		return z.Add(x, y)
	case "$product":
		return z.Mul(x, y)
	case "$difference":
		return z.Sub(x, y)
	}
	quotient, remainder := new(big.Int).QuoRem(x, y, z)
	if remainder.Sign() != 0 && remainder.Sign() != y.Sign() { // round down, as Starlark does
		quotient.Sub(quotient, big.NewInt(1))
		remainder.Add(remainder, y)
	}
	if name == "$quotient" {
		return quotient
	}
	return remainder
}

func floats(name string, x, y float64) float64 {
	switch name {
	case "$sum":
		return x + y
	case "$product":
		return x * y
	case "$difference":
		return x - y
	case "$quotient":
		return math.Floor(x / y)
	}
	return x - y*math.Floor(x/y)
}
