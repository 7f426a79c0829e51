package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// struck stands where something secret stood.
const struck = "[struck]"

// leastSecret is how long a secret must be to be looked for in texts: a shorter one
// would be found in ordinary words.
const leastSecret = 6

// striker takes out what must not be kept: the secrets it was told, wherever they
// stand; and what tells an account, in the words of servers and in what they want back
// (model.Message.State). A subject's texts, calls and observations lose told secrets
// only: families hold made-up keys and ids, which decide what a trial is.
//
// Striking twice is striking once: a replay strikes what it is asked, and finds what
// was struck when it was recorded.
type striker struct {
	mu      sync.RWMutex
	secrets []string
}

// secret tells a secret.
func (s *striker) secret(value string) {
	if len(value) < leastSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.secrets, value) {
		return
	}
	// Longest first: one may hold another.
	s.secrets = append(s.secrets, value)
	slices.SortStableFunc(s.secrets, func(a, b string) int { return len(b) - len(a) })
}

// told takes told secrets out, and what is no UTF-8.
func (s *striker) told(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, struck)
	}
	return text
}

// holds reports whether bytes hold a told secret.
func (s *striker) holds(b []byte) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.ContainsFunc(s.secrets, func(secret string) bool { return bytes.Contains(b, []byte(secret)) })
}

// What opens an account or tells it, by the shapes that vendors give their keys and
// ids. The first group, where there is one, stays.
var vendors = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{6,}`),
	regexp.MustCompile(`\b(?:sk|pk|rk|gsk|xai|hf|r8|fw|nvapi|tgp|pplx|csk)[-_][A-Za-z0-9_*-]{8,}`),
	regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{20,}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`),
	regexp.MustCompile(`\b(?:org|proj|user|acct|team|req|wrkspc)[-_][A-Za-z0-9]{8,}[A-Za-z0-9_-]*`),
}

// What a server's sentence says that it is: a key, an id of the account or request, an
// address of its owner.
var said = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(projects/|organizations/|billingAccounts/|accounts/)[A-Za-z0-9-]{4,}`),
	regexp.MustCompile(`(?i)\b([a-z0-9_-]*(?:api[ _-]?key(?: provided)?|access[ _-]?token|secret|password|authorization)["']?\s*[:=]\s*["']?)[^\s"',;&}]{4,}`),
	regexp.MustCompile(`(?i)([?&](?:key|token|sig|signature)=)[^&\s"']+`),
	regexp.MustCompile(`(?i)\b((?:organi[sz]ation|org|project|account|user|workspace|team|tenant|subscription|customer|consumer|request|trace)[ _-]?(?:id|number|uid)["']?\s*(?:[:=#]|\bis\b)?\s*["'(<\[]?)[A-Za-z0-9][A-Za-z0-9_.-]{3,}`),
	regexp.MustCompile(`(?i)\b((?:organi[sz]ation|project|account|workspace|tenant|user)["']?\s*[:=]\s*["'(<\[]?)[A-Za-z0-9][A-Za-z0-9_.-]{3,}`),
	regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`),
}

// words are a server's own: what tells the account goes too.
func (s *striker) words(text string) string {
	for range 4 { // what was struck may bring something else together
		clean := shaped(shaped(s.told(text), vendors), said)
		if clean == text {
			break
		}
		text = clean
	}
	return text
}

func shaped(text string, shapes []*regexp.Regexp) string {
	for _, shape := range shapes {
		text = shape.ReplaceAllStringFunc(text, func(found string) string {
			if strings.Contains(found, struck[:len(struck)-1]) {
				return found
			}
			kept := ""
			if groups := shape.FindStringSubmatch(found); len(groups) > 1 {
				kept = groups[1]
			}
			return kept + struck
		})
	}
	return text
}

// accountFields are fields of what servers send that tell the account, or open it.
// Compared without case, dashes and underscores.
var accountFields = func() map[string]bool {
	fields := map[string]bool{}
	for _, name := range strings.Fields(`organization organisation organizationid organisationid org orgid project projectid projectnumber account accountid user userid
		username enduserid workspace workspaceid tenant tenantid team teamid customer customerid subscriptionid requestid xrequestid traceid safetyidentifier promptcachekey
		apikey xapikey key authorization accesstoken refreshtoken idtoken bearertoken secret password cookie setcookie email billingaccount openaiorganization openaiproject`) {
		fields[name] = true
	}
	return fields
}()

var separators = strings.NewReplacer("-", "", "_", "", ".", "")

func account(field string) bool { return accountFields[separators.Replace(strings.ToLower(field))] }

// state is what a provider wants back, without what tells the account. What is no JSON
// loses told secrets only. State without anything to strike stays as it is.
func (s *striker) state(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	var tree any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if dec.Decode(&tree) != nil || dec.More() {
		s.mu.RLock()
		defer s.mu.RUnlock()
		for _, secret := range s.secrets {
			b = bytes.ReplaceAll(b, []byte(secret), []byte(struck))
		}
		return b
	}
	clean, changed := s.tree(tree)
	if !changed {
		return b
	}
	out, err := agentbound.EncodeJSON(clean)
	if err != nil { // what was decoded encodes
		return []byte(`"` + struck + `"`)
	}
	return out
}

// blob is a text that nobody reads, such as encrypted reasoning: shapes found in one are
// found by chance.
const blob = 200

func (s *striker) tree(v any) (clean any, changed bool) {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, field := range x {
			name := s.told(k)
			c, did := s.field(k, field)
			out[name], changed = c, changed || did || name != k
		}
		return out, changed
	case []any:
		for i := range x {
			c, did := s.tree(x[i])
			x[i], changed = c, changed || did
		}
	case string:
		text := s.told(x)
		if len(x) < blob || strings.ContainsAny(x, " \n") {
			text = s.words(x)
		}
		return text, text != x
	}
	return v, changed
}

func (s *striker) field(name string, v any) (clean any, changed bool) {
	switch v.(type) {
	case string, json.Number:
		if account(name) {
			return struck, v != struck
		}
	}
	return s.tree(v)
}

func (s *striker) message(m model.Message) model.Message {
	m.Text, m.Reasoning, m.CallID, m.Tool = s.told(m.Text), s.told(m.Reasoning), s.told(m.CallID), s.told(m.Tool)
	m.State = s.state(m.State)
	m.Calls = slices.Clone(m.Calls)
	for i, c := range m.Calls {
		m.Calls[i] = model.ToolCall{ID: s.told(c.ID), Name: s.told(c.Name), Args: s.arguments(c.Args)}
	}
	return m
}

// arguments are JSON, or should be: a secret may be written in them with escapes, which
// tools read.
func (s *striker) arguments(text string) string {
	text = s.told(text)
	var tree any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if !strings.Contains(text, `\`) || dec.Decode(&tree) != nil || dec.More() || !s.within(tree) {
		return text
	}
	out, err := agentbound.EncodeJSON(s.toldTree(tree))
	if err != nil { // what was decoded encodes
		return struck
	}
	return string(out)
}

// within reports whether a string or key of decoded JSON holds a told secret.
func (s *striker) within(tree any) bool {
	switch x := tree.(type) {
	case map[string]any:
		for k, v := range x {
			if s.holds([]byte(k)) || s.within(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, s.within)
	case string:
		return s.holds([]byte(x))
	}
	return false
}

func (s *striker) toldTree(tree any) any {
	switch x := tree.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range x {
			out[s.told(k)] = s.toldTree(v)
		}
		return out
	case []any:
		for i := range x {
			x[i] = s.toldTree(x[i])
		}
	case string:
		return s.told(x)
	}
	return tree
}

// tells reports whether an answer holds a told secret, however it is written.
func (s *striker) tells(r model.Response) bool {
	m := r.Message
	all := []string{m.Text, m.Reasoning, m.CallID, m.Tool, string(m.State), r.Refusal, r.Model}
	for _, c := range m.Calls {
		all = append(all, c.ID, c.Name, c.Args)
	}
	return slices.ContainsFunc(all, func(text string) bool {
		var tree any
		return s.holds([]byte(text)) || json.Unmarshal([]byte(text), &tree) == nil && s.within(tree)
	})
}

func (s *striker) request(r model.Request) model.Request {
	r.Messages = slices.Clone(r.Messages)
	for i, m := range r.Messages {
		r.Messages[i] = s.message(m)
	}
	r.Tools = slices.Clone(r.Tools)
	for i, t := range r.Tools {
		r.Tools[i] = agentbound.Tool{Name: s.told(t.Name), Description: s.told(t.Description), Schema: agentbound.Value(s.told(string(t.Schema)))}
	}
	return r
}

func (s *striker) ref(r model.Ref) model.Ref {
	settings := map[string]string{}
	for k, v := range r.Settings {
		settings[k] = s.told(v)
	}
	return model.Ref{Name: s.told(r.Name), Settings: settings}
}

// response looks for vendors' keys and ids in the refusal too: where a request is
// turned away it holds a server's words.
func (s *striker) response(r model.Response) model.Response {
	r.Message, r.Refusal, r.Model = s.message(r.Message), shaped(s.told(r.Refusal), vendors), s.told(r.Model)
	return r
}

func (s *striker) fault(e *model.Error) *model.Error {
	return &model.Error{
		Fault: e.Fault, Who: s.told(e.Who), What: s.words(e.What), Remedy: s.words(e.Remedy),
		Status: e.Status, Code: s.words(e.Code), After: e.After, Err: awaited(e),
	}
}

// awaited is all that is kept of an error's cause.
func awaited(e *model.Error) error {
	if errors.Is(e, model.ErrAwaited) {
		return model.ErrAwaited
	}
	return nil
}
