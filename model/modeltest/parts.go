package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// What the peers of vendors' protocols share.

// strict decodes one JSON value and knows no field beside those of v.
func strict(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// signature is what a peer signs reasoning with: whoever changes a part of it loses it.
func signature(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// unescaped is JSON with the characters in it that encoders escape for HTML's sake, as
// it was before: no bytes for a test to compare differ by that.
func unescaped(raw json.RawMessage) string {
	var b bytes.Buffer
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		if n := min(i+6, len(raw)); raw[i+1] == 'u' {
			if r, err := strconv.ParseUint(string(raw[i+2:n]), 16, 16); err == nil && bytes.ContainsRune([]byte("<>&\u2028\u2029"), rune(r)) {
				b.WriteRune(rune(r))
				i += 5
				continue
			}
		}
		b.Write(raw[i : i+2]) // an escape is skipped whole: what follows a \\ is none
		i++
	}
	return b.String()
}

// object reports whether raw is a JSON object.
func object(raw []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && fields != nil
}

// written are arguments as the model of a peer wrote them. In JSON they are an object,
// an empty one where they were none; in a stream they come as they are.
type written string

// MarshalJSON implements json.Marshaler.
func (w written) MarshalJSON() ([]byte, error) {
	if object([]byte(w)) {
		return []byte(w), nil
	}
	return []byte("{}"), nil
}

// number is the n-th of a list's entries in an error.
func number(list string, i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%d: %w", list, i, err)
}
