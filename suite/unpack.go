package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbound/agentbound"
)

// Limits of a packed suite. A file of a few kilobytes can unfold to any size, and a few
// bytes of JSON decode to many of memory, so each part is measured before it is decoded.
const (
	maxPacked       = 64 << 20 // bytes that it may unfold to; core has about 10 MiB
	maxPackedItems  = 10_000   // families, toolkits, sets of tools
	maxPackedPart   = 16 << 20 // bytes of one of them
	maxPackedCommas = 1 << 20  // commas of one of them, and so about its members
)

// Unpack reads a packed suite, verifies every digest, and holds each family to what the
// loader accepts: a digest attests only that nothing was changed since it was taken.
func Unpack(b []byte) (*Suite, error) {
	text, err := unfold(b)
	if err != nil {
		return nil, err
	}
	u := unpacker{json: json.NewDecoder(bytes.NewReader(text))}
	if err := u.object(u.part); err != nil {
		return nil, fmt.Errorf("packed suite: %w; build it again", worded(err))
	}
	s := &u.suite
	if err := s.verify(); err != nil {
		return nil, err
	}
	if err := s.loadable(); err != nil {
		return nil, err
	}
	return s, nil
}

// UnpackTrusted is Unpack for a file that was verified before, such as one that is
// embedded and tested: it is decoded at once, in a third of the time.
func UnpackTrusted(b []byte) (*Suite, error) {
	text, err := unfold(b)
	if err != nil {
		return nil, err
	}
	var p packed
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("packed suite: %w; build it again", worded(err))
	}
	s := p.Suite
	s.Families = make([]agentbound.Family, 0, len(p.Families))
	for i := range p.Families {
		f, err := p.unpack(&p.Families[i])
		if err != nil {
			return nil, err
		}
		s.Families = append(s.Families, f)
	}
	return &s, nil
}

// unfold gives the JSON of a packed suite.
func unfold(b []byte) ([]byte, error) {
	if !Packed(b) {
		return nil, errors.New("not a packed suite of version 1; agentbound suite build --out makes one")
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := r.DecodeAll(b[len(magic):], nil)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, fmt.Errorf("packed suite: it unfolds to more than %d MiB; accepted: at most that: split the suite", maxPacked>>20)
	case err != nil:
		return nil, fmt.Errorf("packed suite: %w; the file was changed or cut: build it again", err)
	}
	return text, nil
}

// unpacker reads the JSON of a packed suite part by part.
type unpacker struct {
	json   *json.Decoder
	suite  Suite
	packed packed
	commas int // of the parts that families share
}

// object reads an object whose keys are read by part, and nothing behind it.
func (u *unpacker) object(part func(key string) error) error {
	if err := u.delim('{'); err != nil {
		return err
	}
	for u.json.More() {
		key, err := u.json.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // the decoder takes no other
		if err := part(name); err != nil {
			return err
		}
	}
	if err := u.delim('}'); err != nil {
		return err
	}
	if _, err := u.json.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the suite")
	}
	return nil
}

func (u *unpacker) delim(want json.Delim) error {
	t, err := u.json.Token()
	if err == nil && t != want {
		err = fmt.Errorf("%q is wanted at byte %d", want.String(), u.json.InputOffset())
	}
	return err
}

// part reads one part of the packed form. Families come after what they share.
func (u *unpacker) part(key string) error {
	switch key {
	case "suite":
		return u.header()
	case "sources":
		return shared(u, "toolkits", &u.packed.Sources)
	case "tools":
		return shared(u, "sets of tools", &u.packed.Tools)
	case "families":
		return u.list("families", func(raw json.RawMessage) error {
			var q packedFamily
			if err := json.Unmarshal(raw, &q); err != nil {
				return err
			}
			f, err := u.packed.unpack(&q)
			u.suite.Families = append(u.suite.Families, f)
			return err
		})
	}
	return fmt.Errorf("part %s is not known", quote(key))
}

// header reads the suite without its families.
func (u *unpacker) header() error {
	var raw json.RawMessage
	if err := u.json.Decode(&raw); err != nil {
		return err
	}
	if len(raw) > maxSuiteSize {
		return fmt.Errorf("its header has %d bytes; accepted: at most %d", len(raw), maxSuiteSize)
	}
	var s Suite
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	s.Families = u.suite.Families // those of the header are none
	u.suite = s
	return nil
}

// shared reads a list of parts that families share.
func shared[T any](u *unpacker, what string, to *[]T) error {
	return u.list(what, func(raw json.RawMessage) error {
		if u.commas += bytes.Count(raw, []byte(",")); u.commas > maxPackedCommas {
			return fmt.Errorf("its %s have more than %d members", what, maxPackedCommas)
		}
		var x T
		err := json.Unmarshal(raw, &x)
		*to = append(*to, x)
		return err
	})
}

// list gives the items of a list one by one, each measured. null is an empty list.
func (u *unpacker) list(what string, item func(json.RawMessage) error) error {
	t, err := u.json.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return fmt.Errorf("its %s are no list", what)
	}
	for n := 1; u.json.More(); n++ {
		var raw json.RawMessage
		if err := u.json.Decode(&raw); err != nil {
			return err
		}
		switch {
		case n > maxPackedItems:
			return fmt.Errorf("it has more than %d %s; accepted: at most that: split the suite", maxPackedItems, what)
		case len(raw) > maxPackedPart || bytes.Count(raw, []byte(",")) > maxPackedCommas:
			return fmt.Errorf("number %d of its %s has more than %d MiB or %d members; accepted: at most that", n, what, maxPackedPart>>20, maxPackedCommas)
		}
		if err := item(raw); err != nil {
			return err
		}
	}
	return u.delim(']')
}

// worded takes the terms of this program from an error of the JSON decoder.
func worded(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is no value for %s", wrong.Value, quote(strings.TrimPrefix(wrong.Field, "Family.")))
	}
	return err
}

// loadable holds a compiled suite to what the loader accepts of files.
func (s *Suite) loadable() error {
	if err := s.named(); err != nil {
		return err
	}
	if len(s.Families) == 0 {
		return fmt.Errorf("suite %s has no families; build it again from a source that has", printable(s.Name))
	}
	l := loader{compiled: map[string]schema{}}
	l.suite.Seed = s.Seed
	for i := range s.Families {
		f := &s.Families[i]
		if i > 0 && f.ID <= s.Families[i-1].ID {
			return fmt.Errorf("suite %s: family %s stands twice, or not in the order of ids; build it again", printable(s.Name), printable(string(f.ID)))
		}
		if err := l.again(f); err != nil {
			return err
		}
	}
	return nil
}

// named checks what a suite.yaml would say of the suite.
func (s *Suite) named() error {
	r := &report{file: "suite " + quote(s.Name)}
	suiteStructure().check(r, s.header())
	if strings.TrimSpace(s.Name) != s.Name {
		r.whole("name begins or ends with white space; remove it")
	}
	if len(r.problems) > 0 {
		return r.problems.sorted()
	}
	return nil
}

// again writes a compiled family as its author would have, checks and compiles that, and
// compares: so a family that no files give is refused, whatever part of it is at fault.
func (l *loader) again(f *agentbound.Family) error {
	name := "family " + printable(string(f.ID))
	doc, err := familyDocument(f, coin(l.suite.Seed, f.ID))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l.show = func(file string) string { return name + ", " + printable(file) }
	l.given = map[string]string{}
	for _, s := range f.Toolkits {
		if len(s.Text) > MaxToolkitBytes {
			return fmt.Errorf("%s: toolkit %s is larger than %d KiB; shorten it", name, printable(s.Name), MaxToolkitBytes>>10)
		}
		l.given[s.Name] = strings.ReplaceAll(s.Text, "\r\n", "\n")
	}
	r := &report{file: name}
	l.problems, l.suite.Families = nil, nil
	if err := l.build("", "", doc, r); err != nil {
		return err
	}
	if l.problems = append(l.problems, r.problems...); len(l.problems) > 0 {
		return l.problems.sorted()
	}
	if got := l.suite.Families[0].Digest; got != f.Digest {
		return fmt.Errorf("%s: its tasks, tools or texts are not those that its parts give; build the suite again from its source", name)
	}
	return nil
}
