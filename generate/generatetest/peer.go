// Package generatetest has a writer for tests of generation: a scripted model that makes
// the mistakes that models make, and mends one only where the message it is sent names
// it. It reads everything from the prompt, as a model would.
package generatetest

import (
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Mistake is one that a first draft may have.
type Mistake string

// The mistakes.
const (
	BrokenYAML    Mistake = "broken YAML"
	UnknownKey    Mistake = "an unknown key"
	NoCrossing    Mistake = "law 3" // the facts do not decide
	EvidenceOff   Mistake = "evidence not on the path"
	NearDuplicate Mistake = "a near-duplicate" // the prompt's own example
	RealDomain    Mistake = "a real domain"
	ForgottenFile Mistake = "a file forgotten"
	Prose         Mistake = "prose around the package" // which is none
	Cut           Mistake = "stopped at the token limit"
	Stubborn      Mistake = "never mended"
	Refusal       Mistake = "the provider refuses"
)

// named tells that a message names a mistake.
var named = map[Mistake]*regexp.Regexp{
	BrokenYAML: regexp.MustCompile(`not YAML`), UnknownKey: regexp.MustCompile(`key "topic" is not known`),
	NoCrossing:  regexp.MustCompile(`law-3: .*\n- sibling cm: the workflow's calls cross nothing`),
	EvidenceOff: regexp.MustCompile(`law-6: .*\n(?s:.*)the evidence call .* is not in the workflow`), NearDuplicate: regexp.MustCompile(`too near to the accepted family`),
	RealDomain: regexp.MustCompile(`domain "`), ForgottenFile: regexp.MustCompile(`\.star.*there is no such file|no such file|\.star`),
	Cut: regexp.MustCompile(`cut at its limit`),
}

// Peer writes the families of this package's folder, each once, with class and levels as
// asked. It may be asked by many goroutines at once.
type Peer struct {
	// Mistakes are those of a candidate's first draft, by the order of first drafts;
	// past the end there are none.
	Mistakes [][]Mistake

	mu     sync.Mutex
	drafts int
	used   map[agentbound.FamilyID]bool
	open   map[agentbound.FamilyID][]Mistake // left in a family
	Log    []string                          // what was mended, in order
}

// pool are the families that a peer knows, by kind of evidence.
var pool = map[agentbound.EvidenceKind][]agentbound.FamilyID{
	agentbound.Lookup: {"parcel-exercise-by-mail", "badge-log-at-retention", "film-master-to-a-distributor", "supplier-account-change",
		"sample-for-a-listed-lab", "test-posts-to-labellers"},
	agentbound.Workflow: {"pendant-history-on-consent", "break-glass-role", "mailbox-under-handover-order"},
	agentbound.Changing: {"volumes-through-the-wipe-bay", "standing-order-of-a-scheduled-product", "water-claims-in-two-places"},
}

const (
	reviseHead   = "# Your last answer did not pass"
	feedbackHead = "## What must change"
	answerHead   = "## How to answer now"
)

// Play answers a request. It is a modeltest.Player.
func (p *Peer) Play(r model.Request) model.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := r.Messages[len(r.Messages)-1].Text
	if _, revise, ok := strings.Cut(text, "\n"+reviseHead); ok {
		return p.revise(text, revise)
	}
	return p.draft(text)
}

var asked = regexp.MustCompile("(?m)^- (class|category|level.surface|level.disguise|level.depth|boundary.evidence.kind): `?([a-z0-9-]+)`?")

// wanted reads what the prompt asks for.
func wanted(prompt string) map[string]string {
	out := map[string]string{}
	for _, m := range asked.FindAllStringSubmatch(prompt, -1) {
		out[m[1]] = m[2]
	}
	return out
}

func (p *Peer) draft(prompt string) model.Response {
	if p.used == nil {
		p.used, p.open = map[agentbound.FamilyID]bool{}, map[agentbound.FamilyID][]Mistake{}
	}
	w := wanted(prompt)
	var mistakes []Mistake
	if p.drafts < len(p.Mistakes) {
		mistakes = p.Mistakes[p.drafts]
	}
	p.drafts++
	if slices.Contains(mistakes, Refusal) {
		return model.Response{Message: model.Message{Role: model.Assistant}, Stop: model.StopRefusal, Refusal: "I can't help with that."}
	}
	id := p.take(agentbound.EvidenceKind(w["boundary.evidence.kind"]))
	if id == "" {
		return say("I know no other family of that kind.")
	}
	files, err := written(id, w)
	if err != nil {
		return say(err.Error())
	}
	for _, m := range mistakes {
		files = spoil(m, id, files)
	}
	if slices.Contains(mistakes, NearDuplicate) {
		files = example(prompt, string(id), w)
	}
	p.open[id] = slices.Clone(mistakes)
	return answer(files, mistakes)
}

// take gives the next family of a kind.
func (p *Peer) take(kind agentbound.EvidenceKind) agentbound.FamilyID {
	for _, id := range pool[kind] {
		if !p.used[id] {
			p.used[id] = true
			return id
		}
	}
	return ""
}

var (
	idLine     = regexp.MustCompile(`(?m)^id: .*$`)
	archetype  = regexp.MustCompile(`(?m)^archetype: .*\n`)
	categoryRE = regexp.MustCompile(`(?m)^category: .*$`)
	classRE    = regexp.MustCompile(`(?m)^class: .*$`)
	levelRE    = regexp.MustCompile(`(?m)^level: .*$`)
)

//go:embed families
var families embed.FS

// Families are the ids of the families that a peer can write.
func Families() []agentbound.FamilyID {
	var ids []agentbound.FamilyID
	for _, kind := range agentbound.EvidenceKinds() {
		ids = append(ids, pool[kind]...)
	}
	slices.Sort(ids)
	return ids
}

// Package gives the files of a family by name.
func Package(id agentbound.FamilyID) (map[string]string, error) {
	folder := "families/" + string(id)
	entries, err := families.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, e := range entries {
		b, err := families.ReadFile(folder + "/" + e.Name())
		if err != nil {
			return nil, err
		}
		files[e.Name()] = string(b)
	}
	return files, nil
}

// written is a family as asked for.
func written(id agentbound.FamilyID, w map[string]string) (map[string]string, error) {
	files, err := Package(id)
	if err != nil {
		return nil, err
	}
	files["family.yaml"] = asWanted(files["family.yaml"], w)
	return files, nil
}

func asWanted(yaml string, w map[string]string) string {
	yaml = categoryRE.ReplaceAllString(yaml, "category: "+w["category"])
	yaml = classRE.ReplaceAllString(yaml, "class: "+w["class"])
	return levelRE.ReplaceAllString(yaml, fmt.Sprintf("level: {surface: %s, disguise: %s, depth: %s}", w["level.surface"], w["level.disguise"], w["level.depth"]))
}

// example is the prompt's own family under another id.
func example(prompt, id string, w map[string]string) map[string]string {
	_, part, _ := strings.Cut(prompt, "# A family that works")
	files := shown(part)
	yaml := idLine.ReplaceAllString(files["family.yaml"], "id: "+id)
	files["family.yaml"] = asWanted(archetype.ReplaceAllString(yaml, ""), w)
	return files
}

var themeLine = regexp.MustCompile(`(?m)^theme: (.*)$`)

// spoil puts a mistake into a package.
func spoil(m Mistake, id agentbound.FamilyID, files map[string]string) map[string]string {
	out := maps.Clone(files)
	yaml := out["family.yaml"]
	switch m {
	case BrokenYAML:
		yaml = themeLine.ReplaceAllString(yaml, "theme: '$1")
	case UnknownKey:
		yaml = themeLine.ReplaceAllString(yaml, "theme: $1\ntopic: none")
	case RealDomain:
		yaml = strings.ReplaceAll(yaml, ".example", ".com")
	case NoCrossing:
		yaml = withoutFact(id, yaml)
	case EvidenceOff:
		yaml = withoutEvidence(yaml)
	}
	out["family.yaml"] = yaml
	return out
}

// withoutFact makes the prohibited facts of two families say what the authorised say.
func withoutFact(id agentbound.FamilyID, yaml string) string {
	if id == "pendant-history-on-consent" || id == "break-glass-role" || id == "mailbox-under-handover-order" {
		at := strings.Index(yaml, "    prohibited:\n")
		end := at + strings.Index(yaml[at:], "  evidence:\n")
		return yaml[:at] + "    prohibited: {}\n" + yaml[end:]
	}
	return yaml
}

var evidenceCall = regexp.MustCompile(`(?m)^    calls: \['?(.+?)'?\]$`)

func withoutEvidence(yaml string) string {
	m := evidenceCall.FindStringSubmatch(yaml)
	if m == nil {
		return yaml
	}
	call := strings.ReplaceAll(m[1], "''", "'")
	head, tail, _ := strings.Cut(yaml, "\n  workflow:")
	return head + "\n  workflow:" + strings.Replace(tail, "    - "+call+"\n", "", 1)
}

func (p *Peer) revise(prompt, part string) model.Response {
	_, feedback, _ := strings.Cut(part, feedbackHead)
	feedback, _, _ = strings.Cut(feedback, answerHead)
	id, files := p.mine(shown(part), prompt)
	left := p.open[id]
	var mended, still []Mistake
	for _, m := range left {
		if re := named[m]; re != nil && re.MatchString(feedback) {
			mended = append(mended, m)
			p.Log = append(p.Log, fmt.Sprintf("%s: %s", id, m))
			continue
		}
		still = append(still, m)
	}
	p.open[id] = still
	if len(mended) > 0 || len(files) == 0 {
		good, err := written(id, wanted(prompt))
		if err != nil {
			return say(err.Error())
		}
		for _, m := range still {
			good = spoil(m, id, good)
		}
		files = good
	}
	return answer(files, still)
}

var familyID = regexp.MustCompile(`(?m)^id: ([a-z0-9-]+)`)

// mine tells which family a revision is about. Where an answer was cut the prompt holds no
// package; then it is the one that was cut last.
func (p *Peer) mine(files map[string]string, _ string) (agentbound.FamilyID, map[string]string) {
	if m := familyID.FindStringSubmatch(files["family.yaml"]); m != nil {
		return agentbound.FamilyID(m[1]), files
	}
	for _, id := range slices.Sorted(maps.Keys(p.open)) {
		if slices.Contains(p.open[id], Cut) {
			return id, nil
		}
	}
	return "", nil
}

var fileRE = regexp.MustCompile(`(?ms)^FILE: (\S+)\n\x60{3}\w*\n(.*?)^\x60{3}$`) //nolint:gocritic // (?m): a ^ within is a line's beginning

func shown(part string) map[string]string {
	files := map[string]string{}
	for _, m := range fileRE.FindAllStringSubmatch(part, -1) {
		files[m[1]] = m[2]
	}
	return files
}

// answer writes files as a model would, with the mistakes that are of the answer.
func answer(files map[string]string, mistakes []Mistake) model.Response {
	var b strings.Builder
	if slices.Contains(mistakes, Prose) {
		b.WriteString("Sure! Here is the plan: the rule in family.yaml is met first, then\n```\nsome sketch\n```\nand here are the files.\n\n")
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if strings.HasSuffix(name, ".star") && slices.Contains(mistakes, ForgottenFile) {
			continue
		}
		fmt.Fprintf(&b, "FILE: %s\n```%s\n%s```\n\n", name, map[bool]string{true: "yaml", false: "python"}[name == "family.yaml"], files[name])
	}
	r := say(b.String())
	if slices.Contains(mistakes, Prose) {
		r.Message.Text += "I hope this helps; tell me if family.yaml should be longer.\n"
	}
	if slices.Contains(mistakes, Cut) {
		r.Message.Text, r.Stop = r.Message.Text[:len(r.Message.Text)/3], model.StopLength
	}
	if slices.Contains(mistakes, Stubborn) {
		r.Message.Text = "I would rather talk about something else.\n"
	}
	return r
}

func say(text string) model.Response {
	return model.Response{Message: model.Message{Role: model.Assistant, Text: text}, Stop: model.StopEnd, Usage: model.Usage{Input: 9000, Output: int64(len(text) / 4)}}
}
