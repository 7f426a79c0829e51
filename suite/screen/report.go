package screen

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
)

// Version of the report's JSON.
const Version = 1

// Report is what screening a suite gave. Its JSON is in docs/formats.md.
type Report struct {
	Version  int                 `json:"version"`
	Suite    agentbound.SuiteRef `json:"suite"`
	Texts    int                 `json:"texts"` // different ones
	Findings []Finding           `json:"findings"`
	Allowed  []Allowed           `json:"allowed"`
	Unused   []Allowance         `json:"unused"` // allowances that met nothing
	Blocked  int                 `json:"blocked"`
	Review   int                 `json:"review"`

	passages []passages
}

// Options of a screening.
type Options struct {
	Files fs.FS // the suite's folder, for what only a reader of its files sees; nil for none
	Allow []Allowance
}

// Suite screens a suite. The error is the context's or the file system's.
func Suite(ctx context.Context, s *suite.Suite, o Options) (*Report, error) {
	texts := SuiteTexts(s)
	var unread []Finding
	if o.Files != nil {
		more, failed, err := FileTexts(o.Files, s)
		if err != nil {
			return nil, fmt.Errorf("screening suite %s: %w", s.Name, err)
		}
		texts, unread = append(texts, more...), failed
	}
	for i, a := range o.Allow {
		texts = append(texts, Text{ID: everyone, Where: fmt.Sprintf("allow list entry %d why", i+1), Text: a.Why})
	}
	scr := newScreener()
	var found []Finding
	for _, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found = append(found, scr.findings(t)...)
	}
	r := &Report{Version: Version, Suite: s.Ref(), Texts: scr.distinct()}
	left, allowed, unused := allow(append(found, unread...), o.Allow)
	r.Findings, r.Allowed, r.Unused = append([]Finding{}, left...), append([]Allowed{}, allowed...), append([]Allowance{}, unused...)
	r.Suite.Name = shownText(r.Suite.Name)
	for i := range r.Allowed {
		r.Allowed[i].Why = shownText(r.Allowed[i].Why)
	}
	for i := range r.Unused {
		r.Unused[i].Found, r.Unused[i].Why = shownText(r.Unused[i].Found), shownText(r.Unused[i].Why)
	}
	for _, f := range r.Findings {
		if f.Severity == Block {
			r.Blocked++
		} else {
			r.Review++
		}
	}
	r.passages = passagesOf(s, scr)
	return r, nil
}

// passages are what a person must read of a family: the wordings that alarm, and the
// texts that the reference paths carry.
type passages struct {
	Family, Theme, Class string
	Surface              int
	List                 []passageText
}

// passageText is one of them. Anchor is the same in every page that has it.
type passageText struct {
	Anchor, Title, Text string
	Marks               []Finding // findings in it
}

// leastWords makes a text of an argument: less is an identifier, a name or a state.
const leastWords = 4

func passagesOf(s *suite.Suite, scr *screener) []passages {
	var out []passages
	for i := range s.Families {
		f := &s.Families[i]
		p := passages{Family: string(f.ID), Theme: shownText(f.Theme), Class: string(f.Class), Surface: f.Level.Surface}
		for _, split := range []agentbound.Split{agentbound.HS, agentbound.HB} {
			if t, ok := f.Task(split); ok {
				p.add(scr, string(split), strings.ToUpper(string(split))+" instruction", Text{Where: "task " + string(split) + " instruction", Text: t.Instruction})
			}
		}
		seen := map[string]bool{}
		for _, path := range callPaths(f) {
			for n, call := range path.calls {
				c := &collector{}
				c.value(p.Family, fmt.Sprintf("%s call %d, %s", path.name, n+1, call.Tool), "", decoded(call.Args))
				for _, t := range c.texts {
					if len(strings.Fields(t.Text)) >= leastWords && !seen[t.Text] {
						seen[t.Text] = true
						p.add(scr, anchor(t.Where), t.Where, t)
					}
				}
			}
		}
		out = append(out, p)
	}
	return out
}

func (p *passages) add(scr *screener, name, title string, t Text) {
	t.ID = p.Family
	p.List = append(p.List, passageText{p.Family + "-" + name, title, scr.scan(t).text, scr.findings(t)})
}

// anchor makes a fragment identifier of a place.
func anchor(where string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(where), func(r rune) bool {
		return r < '0' || r > '9' && r < 'a' || r > 'z'
	}), "-")
}
