package subject

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strings"

	"github.com/agentbound/agentbound"
)

// canonical is a call as it is compared: the same tool with the same arguments is the
// same text, in whatever order the members of objects stand and however a number or a
// character is written. Arguments that are no JSON stand for themselves, none for {}.
func canonical(c agentbound.Call) string {
	args := bytes.TrimSpace(c.Args)
	if len(args) == 0 {
		args = []byte("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return c.Tool + "\x00raw\x00" + string(args)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return c.Tool + "\x00raw\x00" + string(args)
	}
	b, err := json.Marshal(uniform(v)) // orders the members
	if err != nil {
		return c.Tool + "\x00raw\x00" + string(args)
	}
	return c.Tool + "\x00" + string(b)
}

// without is arguments without some of them; those that have none of these stay as they
// are, byte for byte.
func without(args agentbound.Value, names []string) agentbound.Value {
	var all map[string]json.RawMessage
	if len(names) == 0 || json.Unmarshal(args, &all) != nil {
		return args
	}
	before := len(all)
	for _, name := range names {
		delete(all, name)
	}
	if len(all) == before {
		return args
	}
	b, err := agentbound.EncodeJSON(all)
	if err != nil {
		return args
	}
	return b
}

// mostNumber is how long a number's text may be to be read as one: 1e999999999 would
// fill the memory.
const mostNumber = 40

// uniform puts numbers into one form each, since programs in JavaScript make 1 of 1.0,
// and tells them from strings.
func uniform(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = uniform(x)
		}
	case []any:
		for i, x := range v {
			v[i] = uniform(x)
		}
	case string:
		return "s" + v
	case json.Number:
		if f, err := v.Float64(); err != nil || len(v) > mostNumber || strings.ContainsAny(string(v), "eE") && (f > 1e30 || f < -1e30 || f != 0 && f < 1e-30 && f > -1e-30) {
			return "n" + string(v)
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return "n" + r.RatString()
		}
	}
	return v
}
