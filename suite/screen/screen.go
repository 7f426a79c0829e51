package screen

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// Text is something to be looked through.
type Text struct {
	ID    string // of the family it belongs to; may be empty
	Where string // its place, as a finding will name it: "task hb instruction"
	Name  string // the key or argument it is the value of, if any: "password" tells what follows
	Text  string
	Code  bool // Starlark: texts and comments are looked through, and places have lines
}

// Finding is one thing found at one place.
type Finding struct {
	ID       string   `json:"id"`
	Where    string   `json:"where"`
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	Found    string   `json:"found"` // redacted where the kind is sensitive
	Remedy   string   `json:"remedy"`
}

// Texts looks through texts and gives the findings in the order of the texts, within a
// text in the order of their places. Equal texts are looked through once. It does no I/O
// and keeps nothing; the error is the context's.
func Texts(ctx context.Context, texts []Text) ([]Finding, error) {
	s := newScreener()
	var found []Finding
	for _, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found = append(found, s.findings(t)...)
	}
	return found, nil
}

// screener remembers what it has looked through.
type screener struct {
	seen map[key]scanned
}

type key struct {
	name, text string
	code       bool
}

func newScreener() *screener { return &screener{map[key]scanned{}} }

// distinct is how many different texts were looked through.
func (s *screener) distinct() int {
	texts := map[string]bool{}
	for k := range s.seen {
		texts[k.text] = true
	}
	return len(texts)
}

func (s *screener) scan(t Text) scanned {
	k := key{t.Name, t.Text, t.Code}
	r, ok := s.seen[k]
	if !ok {
		r = scan(t)
		s.seen[k] = r
	}
	return r
}

// shownText is a text as it may be shown.
func shownText(text string) string { return scan(Text{Text: text}).text }

func (s *screener) findings(t Text) []Finding {
	r := s.scan(t)
	var out []Finding
	for _, h := range r.hits {
		where := shownText(t.Where) // a path has the keys of a state, which may be the finding
		if t.Code {
			where += ":" + strconv.Itoa(h.line)
		}
		if h.decoded {
			where += " (base64, decoded)"
		}
		f := Finding{ID: t.ID, Where: where, Kind: h.kind, Severity: h.severity, Found: h.found, Remedy: infoOf[h.kind].remedy}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// scanned is what one text gave: the hits, and the text as it may be shown.
type scanned struct {
	hits []hit
	text string
}

// hit is a finding in a text, by the bytes of its normalised form.
type hit struct {
	start, end int
	kind       Kind
	severity   Severity
	found      string // as it may be shown; filled in by settle, unless the detector words it
	line       int    // from 1
	decoded    bool
}

// view is a text as detectors read it.
type view struct {
	name    string // plain: lower case, words separated by single spaces
	whole   string // normalised
	content string // whole, or of code its texts and comments, at the same places
	numbers string // content without dates, times, versions and ISBNs, at the same places
	code    bool

	// what a text must have before a slow pattern is worth a try
	lower   string // content in small letters
	digits  int
	longest int // run without white space, in bytes
}

// hasAny reports whether one of some signs is in the text.
func (v view) hasAny(signs []string) bool {
	return slices.ContainsFunc(signs, func(s string) bool { return strings.Contains(v.lower, s) })
}

func newView(t Text) view {
	v := view{name: keyWords(t.Name), whole: normalise(t.Text), code: t.Code}
	v.content = v.whole
	if t.Code {
		v.content = literals(v.whole)
	}
	v.numbers = withoutPlain(v.content)
	v.lower = strings.ToLower(v.content)
	v.digits = len(digits(v.numbers))
	for _, run := range strings.Fields(v.content) {
		v.longest = max(v.longest, len(run))
	}
	return v
}

// keyWords makes words of a key: "bankAccount_no" is "bank account no".
func keyWords(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range normalise(name) {
		upper := r >= 'A' && r <= 'Z'
		if upper && lower {
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return strings.Join(strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool {
		return r < '0' || r > '9' && r < 'a' || r > 'z' && r < 0x80
	}), " ")
}

// detectors look for one sort of thing each.
var detectors = []func(view) []hit{
	secrets, passwords, links, emails, numbersOfAccounts, identities, networks, places, phones, wallets,
	domains, listedWords, listedNames, exploits, blobs, recipes,
}

// detected is what the detectors find.
func detected(v view) []hit {
	var hits []hit
	for _, detect := range detectors {
		hits = append(hits, detect(v)...)
	}
	return hits
}

func scan(t Text) scanned {
	v := newView(t)
	hits := detected(v)
	hits = append(hits, encoded(v)...)
	hits = append(hits, reread(t, hits)...)
	if what := concealed(t.Text); what != "" {
		hits = append(hits, hit{kind: Hidden, severity: Review, found: what})
	}
	return settle(v, hits)
}

// settle lets each part of a text be claimed once, by the kind that comes first, and
// words the findings. A secret within a larger finding is blotted out there.
func settle(v view, hits []hit) scanned {
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(rankOf[a.kind], rankOf[b.kind]), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var kept []hit
	for _, h := range hits {
		if !slices.ContainsFunc(kept, func(k hit) bool { return k.claims(h) }) {
			kept = append(kept, h)
		}
	}
	slices.SortStableFunc(kept, func(a, b hit) int { return cmp.Compare(a.start, b.start) })
	for i := range kept {
		h := &kept[i]
		h.line = 1 + strings.Count(v.whole[:h.start], "\n")
		if h.found == "" {
			h.found = v.show(*h, kept)
		}
	}
	return scanned{kept, v.blotted(0, len(v.whole), kept)}
}

// claims reports whether h says nothing that k, of an earlier kind, has not said: they
// overlap, unless k is a secret of which h holds more than the secret.
func (k hit) claims(h hit) bool {
	if h.start == h.end || k.start == k.end {
		return k.kind == h.kind && k.found == h.found
	}
	if h.end <= k.start || k.end <= h.start {
		return false
	}
	within := k.start <= h.start && h.end <= k.end
	return within || k.kind != Secret && k.kind != Password
}

// show words a finding.
func (v view) show(h hit, all []hit) string {
	how := infoOf[h.kind].redact
	if how != shown {
		return redacted(how, v.whole[h.start:h.end])
	}
	var inner []hit
	for _, o := range all {
		if o != h {
			inner = append(inner, o)
		}
	}
	return clip(v.blotted(h.start, h.end, inner))
}

// blotted is a part of the text with everything sensitive in it redacted.
func (v view) blotted(from, to int, hits []hit) string {
	var b strings.Builder
	at := from
	for _, h := range hits { // by start
		how := infoOf[h.kind].redact
		if how == shown || h.end <= at || h.start >= to || h.start == h.end {
			continue
		}
		b.WriteString(v.whole[at:max(at, h.start)])
		b.WriteString(redacted(how, v.whole[h.start:h.end]))
		at = h.end
	}
	if at < to {
		b.WriteString(v.whole[at:to])
	}
	return b.String()
}
