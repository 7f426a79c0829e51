// Package seed reads ideas for families from other places: lists in plain text, and
// files in the formats of AgentHarm and ToolEmu. A seed gives a generator its topic,
// never its words. Each is mapped to one of the leaf classes, with the reason, and what
// cannot be mapped, must not be used or is there already is told and left out.
package seed

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/agentbound/agentbound"
)

// Version is the version of a line of a seeds file.
const Version = 1

// Source is where a seed comes from. Index counts from 1 within the file.
type Source struct {
	Format Format `json:"format"`
	File   string `json:"file"`
	Index  int    `json:"index"`
	Name   string `json:"name,omitempty"` // the source's own id or name
}

// Screening of a seed.
const (
	Unscreened = "unscreened" // nobody looked
	Clean      = "clean"
)

// Never is what Train says of a seed whose source asks for evaluation use only; what is
// made from it carries the mark on.
const Never = "never"

// Seed is one idea, normalised. It is one line of a seeds file.
type Seed struct {
	Version  int              `json:"version"`
	ID       string           `json:"id"` // by its text
	Source   Source           `json:"source"`
	Class    agentbound.Class `json:"class"`
	Why      string           `json:"why"` // how the class was found
	Text     string           `json:"text"`
	Tools    []string         `json:"tools"`
	Outcomes []string         `json:"outcomes"`
	Screened string           `json:"screened"`
	Train    string           `json:"train,omitempty"` // Never, or empty
}

// id is the beginning of the SHA-256 of a text, as compared.
func id(text string) string {
	sum := sha256.Sum256([]byte(folded(text)))
	return hex.EncodeToString(sum[:6])
}

// folded is a text as duplicates are told by: compatibility forms, case and white space
// do not count.
func folded(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(norm.NFKC.String(text)), " "))
}

// Write writes a seeds file: one JSON object a line.
func Write(w io.Writer, seeds []Seed) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, s := range seeds {
		if err := enc.Encode(s); err != nil {
			return err
		}
	}
	return nil
}

// maxLine bounds a line of a seeds file.
const maxLine = 1 << 20

// Read reads a seeds file. An error names the line, what is wrong and what is accepted.
func Read(name string, r io.Reader) ([]Seed, error) {
	var seeds []Seed
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		var s Seed
		if err := dec.Decode(&s); err != nil {
			return nil, fmt.Errorf("%s:%d: %w; a seeds file has one JSON object a line: make it with agentbound suite import", name, n, err)
		}
		if err := s.valid(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		seeds = append(seeds, s)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: the line is longer than %d KiB; a seeds file has one JSON object a line: make it with agentbound suite import", name, n+1, maxLine>>10)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return seeds, nil
}

func (s Seed) valid() error {
	switch {
	case s.Version != Version:
		return fmt.Errorf("version %d; accepted: %d (make the file with agentbound suite import)", s.Version, Version)
	case strings.TrimSpace(s.Text) == "":
		return fmt.Errorf("seed %q has no text", s.ID)
	case s.ID == "":
		return errors.New("the seed has no id")
	}
	return s.Class.Validate()
}
