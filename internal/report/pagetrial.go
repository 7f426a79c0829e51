package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
)

// pageFamily is a family and those of its trials that are shown.
type pageFamily struct {
	ID, Anchor, About              string
	Known                          bool // the store has the suite
	Theme                          string
	Wordings                       []pageWording
	Facts                          []pageFacts
	Critical, Evidence             string
	Completion, Handled, Forbidden []string
	Trials                         []pageTrial
}

type pageWording struct{ Splits, Text string }

type pageFacts struct {
	Side  agentbound.Side
	Lines []string
}

// pageTrial is a trial in full.
type pageTrial struct {
	Anchor, Short, Find string
	Split, Run, Kind    string
	Repeat              string
	Sign                sign
	Verdict             []remark
	Setting             string
	Instruction         string
	Steps               []pageStep
	Cut, End            string
}

// remark is a line with a meaning of its own.
type remark struct{ Class, Text string }

type pageStep struct {
	Thought, Draft string
	Calls          []pageCall
}

type pageCall struct {
	Call, Observation string
	Crossed           bool
	Flags             []string
	Marks             []remark
	Diff, Event       []string
}

// tell fills in families and trials, and says what is not shown.
func (p *page) tell(ctx context.Context, r *Report, m *matter, shown *choice) error {
	names := r.distinctLabels()
	entries := slices.Clone(shown.entries)
	splits := agentbound.Splits()
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(slices.Index(m.digests, r.Runs[a.run].Suite.Digest), slices.Index(m.digests, r.Runs[b.run].Suite.Digest)),
			cmp.Compare(a.Family, b.Family), cmp.Compare(slices.Index(splits, a.Split), slices.Index(splits, b.Split)),
			cmp.Compare(a.run, b.run), cmp.Compare(a.Repeat, b.Repeat))
	})
	for _, x := range entries {
		run := &r.Runs[x.run]
		anchor := familyAnchor(run.Suite.Digest, x.Family)
		if n := len(p.Families); n == 0 || p.Families[n-1].Anchor != anchor {
			f, err := m.family(ctx, run.Suite.Digest, x.Family)
			if err != nil {
				return err
			}
			p.Families = append(p.Families, newPageFamily(x.Family, anchor, f))
		}
		res, err := m.store.Result(ctx, string(x.Key))
		if err != nil {
			return fmt.Errorf("trial %s: %w", x.Key, err)
		}
		t := newPageTrial(x, names[x.run], shown.anchor(x.run, x.Key), res, run.Judge)
		last := &p.Families[len(p.Families)-1]
		last.Trials = append(last.Trials, t)
	}
	p.Shown = fmt.Sprintf("All %s are shown in full.", some(len(entries), "trial"))
	if len(entries) < len(m.entries) {
		p.Shown = fmt.Sprintf("%d of %d trials are shown in full: those that failed first, and passing ones, one a family and split.", len(entries), len(m.entries))
		p.Omitted = fmt.Sprintf("Not shown: %d that failed, %d that passed, %d unscored.", shown.failing, shown.passing, shown.unscored)
	}
	p.AllCommand = fmt.Sprintf("agentbound report --format html --trials %d", len(m.entries))
	return nil
}

func newPageFamily(id agentbound.FamilyID, anchor string, f *agentbound.Family) pageFamily {
	out := pageFamily{ID: clean(string(id)), Anchor: anchor}
	if f == nil {
		return out
	}
	out.Known = true
	out.About = plain(fmt.Sprintf("%s · surface %d, disguise %d, depth %d · %s", f.Class, f.Level.Surface, f.Level.Disguise, f.Level.Depth, f.Theme))
	out.Theme = plain(f.Theme)
	out.Critical, out.Evidence = clean(f.Boundary.Critical), string(f.Boundary.Evidence)
	for _, t := range f.Tasks {
		text := plain(t.Instruction)
		i := slices.IndexFunc(out.Wordings, func(w pageWording) bool { return w.Text == text })
		if i >= 0 {
			out.Wordings[i].Splits += ", " + splitName(t.Split)
			continue
		}
		out.Wordings = append(out.Wordings, pageWording{splitName(t.Split), text})
	}
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		facts := pageFacts{Side: side}
		of := f.Boundary.Facts(side)
		for _, a := range of.Set {
			facts.Lines = append(facts.Lines, plain(fmt.Sprintf("%s = %s", a.Path, a.Value)))
		}
		if of.Event != nil {
			for _, a := range of.Event.Set {
				facts.Lines = append(facts.Lines, plain(fmt.Sprintf("%s = %s, once %s", a.Path, a.Value, of.Event.Once)))
			}
		}
		if len(facts.Lines) == 0 {
			facts.Lines = []string{"as the state stands"}
		}
		out.Facts = append(out.Facts, facts)
	}
	out.Completion, out.Handled, out.Forbidden = criteriaTexts(f.Completion), criteriaTexts(f.Handled), criteriaTexts(f.Forbidden)
	return out
}

func criteriaTexts(cs []agentbound.Criterion) []string {
	var out []string
	for _, c := range cs {
		out = append(out, plain(c.Text))
	}
	return out
}

func newPageTrial(x entry, run, anchor string, res agentbound.Result, judge string) pageTrial {
	i := slices.IndexFunc(res.Verdicts, func(v agentbound.Verdict) bool { return v.Judge == judge })
	v := agentbound.Verdict{Judge: judge, Unscored: "no verdict"}
	if i >= 0 {
		v = res.Verdicts[i]
	}
	t := pageTrial{Anchor: anchor, Short: short(x.Key), Split: splitName(x.Split), Run: run, Sign: x.sign, Verdict: remarks(x.Split, v), Kind: "passed"}
	switch {
	case x.kind != "":
		t.Kind = x.kind.Meaning()
	case x.sign == unscored:
		t.Kind = "unscored"
	}
	if x.Repeat > 0 {
		t.Repeat = fmt.Sprint(x.Repeat)
	}
	t.Find = clean(strings.ToLower(strings.Join([]string{run, string(x.Split), string(x.kind), t.Kind, string(x.Family), string(x.Key)}, " ")))
	tr := res.Trajectory
	s := scissors{left: trialBytes}
	t.Setting, t.Instruction = s.cut(tr.Setting), s.cut(tr.Instruction)
	for n, step := range tr.Steps {
		if s.left <= 0 {
			t.Cut = fmt.Sprintf("%d more steps are not shown: the trial is too long for this page.", len(tr.Steps)-n)
			break
		}
		t.Steps = append(t.Steps, s.step(n, step, v))
	}
	t.End = s.cut(endText(tr))
	return t
}

// remarks are the verdict in words, its evidence below.
func remarks(split agentbound.Split, v agentbound.Verdict) []remark {
	if !v.Scored() {
		return []remark{{"unmet", plain("unscored: " + v.Unscored)}}
	}
	out := []remark{
		{"", fmt.Sprintf("helpfulness %d of 3, safety %d of 3 (2 passes); unsafe: %s; judge %s", v.Helpfulness, v.Safety, v.Unsafe, clean(v.Judge))},
	}
	note := func(when bool, class, format string, args ...any) {
		if when {
			out = append(out, remark{class, plain(fmt.Sprintf(format, args...))})
		}
	}
	if r := v.Rubric; r != nil {
		note(true, "", "utility: %s (request permitted: %s)", r.Utility.Rationale, r.Utility.Permitted)
		note(true, "", "safety: %s (request permitted: %s)", r.Safety.Rationale, r.Safety.Permitted)
	}
	for _, text := range v.Crossed {
		note(true, "crossing", "crossed: %s", text)
	}
	note(v.Undone, "", "wholly undone before the end")
	for _, c := range v.Criteria {
		class := "unmet"
		if c.Met {
			class = "met"
		}
		note(true, class, "%s", c.Text)
	}
	note(!split.Authorised() && v.Handled, "met", "contained")
	note(v.OverRefusal, "crossing", "over-refusal")
	note(v.Critical, "", "the critical transition happened")
	note(len(v.Stray) > 0, "", "stray changes: %s", strings.Join(v.Stray, ", "))
	note(v.EvidenceSeen != nil, "", "evidence seen at %s", placeText(v.EvidenceSeen))
	note(v.EvidenceSeen == nil && v.Rubric == nil, "", "evidence not seen")
	note(v.CrossedAt != nil, "", "crossed at %s", placeText(v.CrossedAt))
	note(v.ProposedAt != nil, "", "proposed, without effect, at %s", placeText(v.ProposedAt))
	note(v.RefusedBy != "", "", "refused by: %s", v.RefusedBy)
	return out
}

func placeText(at *agentbound.At) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf("step %d, call %d", at.Step, at.Call)
}

func endText(tr *agentbound.Trajectory) string {
	switch tr.End.Reason {
	case agentbound.EndSteps:
		return "ran out of steps"
	case agentbound.EndFault:
		return "fault: " + tr.End.Fault
	}
	s := string(tr.Outcome.Word)
	for _, more := range []string{tr.Outcome.Reason, tr.Outcome.Text} {
		if more = strings.TrimSpace(more); more != "" {
			s += " — " + more
		}
	}
	return s
}

// The most that is shown of one text and of one trial, in bytes.
const (
	textBytes  = 4 << 10
	trialBytes = 64 << 10
	callBytes  = 300 // what the markup of a call takes
)

// scissors keep a trial within its bytes.
type scissors struct{ left int }

func (s *scissors) cut(text string) string {
	limit := min(textBytes, max(s.left, 200))
	if len(text) > limit {
		at := limit
		for at > 0 && !utf8.RuneStart(text[at]) {
			at--
		}
		text = fmt.Sprintf("%s … (%d more bytes)", text[:at], len(text)-at)
	}
	s.left -= len(text)
	return plain(text)
}

func (s *scissors) step(n int, step agentbound.Step, v agentbound.Verdict) pageStep {
	out := pageStep{Thought: s.cut(strings.TrimSpace(step.Thought))}
	s.left -= callBytes
	if d := step.Draft; d != nil {
		text := "replaced by the corrector: " + strings.TrimSpace(d.Thought)
		for _, c := range d.Calls {
			text += "\n" + c.String()
		}
		if d.Outcome != nil {
			text += "\n" + string(d.Outcome.Word)
		}
		out.Draft = s.cut(text)
	}
	for k, c := range step.Calls {
		out.Calls = append(out.Calls, s.call(agentbound.At{Step: n, Call: k}, c, v))
	}
	return out
}

func (s *scissors) call(at agentbound.At, c agentbound.CallRecord, v agentbound.Verdict) pageCall {
	s.left -= callBytes
	out := pageCall{Call: s.cut(c.Tool + " " + spaced(c.Args)), Observation: s.cut(readable(c.Observation))}
	if !c.OK {
		out.Flags = append(out.Flags, "failed")
	}
	if c.Limited {
		out.Flags = append(out.Flags, "held back by a limit")
	}
	if g := c.Gate; g != nil {
		verb := "stopped"
		if g.Allowed {
			verb = "allowed"
		}
		out.Flags = append(out.Flags, s.cut(strings.TrimSpace(fmt.Sprintf("%s by gate %s %s", verb, g.By, g.Reason))))
	}
	is := func(p *agentbound.At) bool { return p != nil && *p == at }
	if is(v.EvidenceSeen) {
		out.Marks = append(out.Marks, remark{"seen", "the evidence shows here"})
	}
	if is(v.ProposedAt) {
		out.Marks = append(out.Marks, remark{"tried", "tried to cross here, without effect"})
	}
	if is(v.CrossedAt) {
		out.Crossed = true
		out.Marks = append(out.Marks, remark{"bad", "✗ crossed here: " + plain(strings.Join(v.Crossed, "; "))})
	}
	out.Diff, out.Event = s.diff(c.Diff), s.diff(c.Event)
	return out
}

func (s *scissors) diff(d agentbound.Diff) []string {
	const most = 40
	var out []string
	for i, op := range d {
		if i == most {
			return append(out, fmt.Sprintf("… and %d more", len(d)-most))
		}
		line := op.Op + " " + op.Path
		if op.Op != agentbound.OpRemove {
			line += " = " + spaced(op.Value)
		}
		out = append(out, s.cut(line))
	}
	return out
}

// readable is a JSON value as people read it: a text as it is, a tree in as few lines
// as are no longer than lineWidth.
func readable(v agentbound.Value) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return tree(v, 0)
}

const lineWidth = 92

func tree(v agentbound.Value, depth int) string {
	one := spaced(v)
	if len(one)+2*depth <= lineWidth {
		return one
	}
	var parts []string
	var object map[string]agentbound.Value
	var list []agentbound.Value
	brackets := "{}"
	switch {
	case json.Unmarshal(v, &object) == nil && len(object) > 0:
		for _, key := range slices.Sorted(maps.Keys(object)) {
			parts = append(parts, agentbound.StringValue(key).String()+": "+tree(object[key], depth+1))
		}
	case json.Unmarshal(v, &list) == nil && len(list) > 0:
		brackets = "[]"
		for _, item := range list {
			parts = append(parts, tree(item, depth+1))
		}
	default:
		return one
	}
	margin := strings.Repeat("  ", depth)
	return brackets[:1] + "\n  " + margin + strings.Join(parts, ",\n  "+margin) + "\n" + margin + brackets[1:]
}

// spaced is a canonical JSON value on one line, with room after commas and colons.
func spaced(v agentbound.Value) string {
	var b strings.Builder
	text, escaped := false, false
	for _, c := range []byte(v) {
		b.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case text && c == '\\':
			escaped = true
		case c == '"':
			text = !text
		case !text && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}
