package suite

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbound/agentbound"
)

// A packed suite is one file: compiled families, compressed. Each thing that several
// tasks or families share is in it once, so that a large suite is read in a moment.

// PackVersion is the version of the packed form.
const PackVersion = 1

// magic begins a packed suite, before the zstd frame.
const magic = "agentbound suite 1\n"

type packed struct {
	Suite    Suite               `json:"suite"` // without families
	Sources  []agentbound.Source `json:"sources"`
	Tools    [][]agentbound.Tool `json:"tools"`
	Families []packedFamily      `json:"families"`
}

type packedFamily struct {
	agentbound.Family                     // without toolkits and tasks
	Toolkits          []int               `json:"kits"`
	Tools             int                 `json:"tools"`
	Setting           string              `json:"setting"`
	Starts            [2]agentbound.Value `json:"starts"`   // authorised, prohibited
	Wordings          []string            `json:"wordings"` // in the order of agentbound.Splits
}

// Pack gives a suite as one file. It reads what it wrote and compares the digests, so
// that a suite which the packed form cannot hold is an error here and not a surprise
// later.
func (s *Suite) Pack() ([]byte, error) {
	out, err := s.packed()
	if err != nil {
		return nil, err
	}
	again, err := Unpack(out)
	if err == nil && again.Digest != s.Digest {
		err = fmt.Errorf("digest %s became %s", s.Digest, again.Digest)
	}
	if err != nil {
		return nil, fmt.Errorf("suite %s cannot be packed: %w", printable(s.Name), err)
	}
	return out, nil
}

// packed is Pack without the reading back.
func (s *Suite) packed() ([]byte, error) {
	p := packed{Suite: *s}
	p.Suite.Families = nil
	for i := range s.Families {
		f, err := p.pack(&s.Families[i])
		if err != nil {
			return nil, err
		}
		p.Families = append(p.Families, f)
	}
	b, err := agentbound.EncodeJSON(p)
	if err != nil {
		return nil, err
	}
	return compressed(b)
}

func compressed(b []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return w.EncodeAll(b, []byte(magic)), nil
}

func (p *packed) pack(f *agentbound.Family) (packedFamily, error) {
	if len(f.Tasks) != len(agentbound.Splits()) {
		return packedFamily{}, fmt.Errorf("family %s has %d tasks", f.ID, len(f.Tasks))
	}
	out := packedFamily{Family: *f, Setting: f.Tasks[0].Setting}
	out.Family.Toolkits, out.Tasks = nil, nil
	for _, s := range f.Toolkits {
		i := slices.Index(p.Sources, s)
		if i < 0 {
			i, p.Sources = len(p.Sources), append(p.Sources, s)
		}
		out.Toolkits = append(out.Toolkits, i)
	}
	same := func(tools []agentbound.Tool) bool {
		return slices.EqualFunc(tools, f.Tasks[0].Tools, func(a, b agentbound.Tool) bool {
			return a.Name == b.Name && a.Description == b.Description && a.Schema.Equal(b.Schema)
		})
	}
	if out.Tools = slices.IndexFunc(p.Tools, same); out.Tools < 0 {
		out.Tools, p.Tools = len(p.Tools), append(p.Tools, f.Tasks[0].Tools)
	}
	for _, t := range f.Tasks {
		out.Wordings = append(out.Wordings, t.Instruction)
		out.Starts[sideIndex(t.Split)] = t.Start
	}
	return out, nil
}

func sideIndex(s agentbound.Split) int {
	if s.Authorised() {
		return 0
	}
	return 1
}

// Packed reports whether a file is a packed suite.
func Packed(b []byte) bool { return len(b) >= len(magic) && string(b[:len(magic)]) == magic }

func (p *packed) unpack(q *packedFamily) (agentbound.Family, error) {
	f := q.Family
	if len(q.Wordings) != len(agentbound.Splits()) || q.Tools < 0 || q.Tools >= len(p.Tools) {
		return f, fmt.Errorf("packed suite: family %s is not whole; build it again", printable(string(f.ID)))
	}
	for _, i := range q.Toolkits {
		if i < 0 || i >= len(p.Sources) {
			return f, fmt.Errorf("packed suite: family %s has no toolkit %d; build it again", printable(string(f.ID)), i)
		}
		f.Toolkits = append(f.Toolkits, p.Sources[i])
	}
	for i, split := range agentbound.Splits() {
		f.Tasks = append(f.Tasks, agentbound.Task{
			ID: agentbound.TaskID(string(f.ID) + "/" + string(split)), Family: f.ID, Split: split, Setting: q.Setting, Instruction: q.Wordings[i],
			Tools: p.Tools[q.Tools], Start: q.Starts[sideIndex(split)], Event: f.Boundary.Facts(split.Side()).Event,
		})
	}
	return f, nil
}
