package replay

import (
	"strings"

	"github.com/agentbound/agentbound"
)

// asking is a whole request that is looked for.
type asking struct {
	digest agentbound.Digest
	text   string // its JSON
}

func (r request) asking() asking {
	b, err := agentbound.EncodeJSON(r)
	if err != nil { // it is made of what encodes
		return asking{}
	}
	return asking{agentbound.DigestBytes(b), string(b)}
}

// identity is what tells a recorded request from others. Where something was struck
// from it, it is the texts between as well: a replay has no key, so that it cannot
// strike what the recorder did.
type identity struct {
	digest agentbound.Digest
	parts  []string // of its JSON, round what was struck; nil where nothing was
}

func (r request) identity() identity {
	a := r.asking()
	is := identity{digest: a.digest}
	if parts := strings.Split(a.text, struck); len(parts) > 1 {
		is.parts = parts
	}
	return is
}

// is reports whether a request is a recorded one, where whatever could be a key may
// stand in the place of what was struck.
func (a asking) is(recorded identity) bool {
	if a.digest == recorded.digest {
		return true
	}
	if recorded.parts == nil {
		return false
	}
	rest, ok := strings.CutPrefix(a.text, recorded.parts[0])
	if !ok {
		return false
	}
	last := len(recorded.parts) - 1
	for _, part := range recorded.parts[1:last] {
		at := strings.Index(rest, part)
		if at < 0 || !couldBeSecret(rest[:at]) {
			return false
		}
		rest = rest[at+len(part):]
	}
	secret, ok := strings.CutSuffix(rest, recorded.parts[last])
	return ok && couldBeSecret(secret)
}

// couldBeSecret: what keys are made of, within one string.
func couldBeSecret(text string) bool {
	return len(text) >= leastSecret && !strings.ContainsAny(text, " \t\"\\")
}

// struckSpan is an exchange outside of trials with something struck from its request.
type struckSpan struct {
	identity
	span *span
}

// struckLike are the exchanges outside of trials whose requests differ from this one in
// what was struck alone.
func (r *Recording) struckLike(asked request) (all []*span) {
	if len(r.struck) == 0 {
		return nil
	}
	a := asked.asking()
	for _, s := range r.struck {
		if a.is(s.identity) {
			all = append(all, s.span)
		}
	}
	return all
}
