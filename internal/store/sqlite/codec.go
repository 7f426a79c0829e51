package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
)

// Digits of the ids, in hex.
const (
	runDigits    = 16
	trialDigits  = 32
	digestDigits = 64
)

// encoded is a result as it goes into the file.
type encoded struct {
	trial    agentbound.Trial
	key      []byte
	scored   bool
	usage    agentbound.Usage
	document []byte
	verdicts []encodedVerdict
}

type encodedVerdict struct {
	agentbound.Verdict
	document string
}

func (s *Store) encode(r *agentbound.Result) (e encoded, err error) {
	e.trial = r.Trial
	if e.key, err = trialKey(r.Key); err != nil {
		return e, err
	}
	t := r.Trajectory
	if t == nil {
		return e, fmt.Errorf("trial %s (%s/%s): no trajectory; one that could not be made ends in a fault: %w", r.Key, r.Family, r.Split, store.ErrInvalid)
	}
	e.scored = t.End.Reason != agentbound.EndFault
	e.usage = t.Spent()
	text, err := agentbound.AppendTrajectory(make([]byte, 0, 8<<10), t)
	if err != nil {
		return e, fmt.Errorf("trial %s (%s/%s): trajectory: %w", r.Key, r.Family, r.Split, err)
	}
	e.document = s.encoder.EncodeAll(text, make([]byte, 0, len(text)/2))
	e.verdicts, err = encodeVerdicts(r.Key, r.Verdicts)
	return e, err
}

func encodeVerdicts(key agentbound.TrialKey, verdicts []agentbound.Verdict) ([]encodedVerdict, error) {
	out := make([]encodedVerdict, len(verdicts))
	for i, v := range verdicts {
		if v.Judge == "" {
			return nil, fmt.Errorf("trial %s: verdict %d names no judge configuration: %w", key, i, store.ErrInvalid)
		}
		text, err := agentbound.EncodeJSON(v)
		if err != nil {
			return nil, fmt.Errorf("trial %s: verdict of %s: %w", key, v.Judge, err)
		}
		out[i] = encodedVerdict{v, string(text)}
	}
	return out, nil
}

func (s *Store) decodeTrajectory(document []byte) (*agentbound.Trajectory, error) {
	text, err := s.decoder.DecodeAll(document, nil)
	if err != nil {
		return nil, err
	}
	t := new(agentbound.Trajectory)
	return t, json.Unmarshal(text, t)
}

// trialKey is the key as 16 bytes.
func trialKey(k agentbound.TrialKey) ([]byte, error) {
	return decodeHex("trial key", string(k), trialDigits)
}

func decodeHex(what, s string, digits int) ([]byte, error) {
	if err := checkHex(what, s, digits); err != nil {
		return nil, err
	}
	return hex.DecodeString(s)
}

func checkHex(what, s string, digits int) error {
	if len(s) != digits || !isHex(s) {
		return fmt.Errorf("%s %q: want %d hex digits in lower case: %w", what, s, digits, store.ErrInvalid)
	}
	return nil
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// unhex is the bytes of what is known to be hex.
func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// between gives the smallest and the largest id of so many digits with the prefix.
func between(prefix string, digits int) (lo, hi string) {
	b := make([]byte, digits)
	fill := func(c byte) string {
		for i := copy(b, prefix); i < digits; i++ {
			b[i] = c
		}
		return string(b)
	}
	return fill('0'), fill('f')
}
