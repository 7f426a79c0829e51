package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// refusal reads an answer whose status says that it is none.
func (g guard) refusal(res *http.Response, body []byte) *model.Error {
	said := Said(body, g.Secret)
	if g.Filtered != nil && g.Filtered(res.StatusCode, body) {
		return &model.Error{Fault: model.FaultRequest, Status: res.StatusCode, Code: Filter, Begun: true, What: cmp.Or(said.Message, "the provider's filter rejects the request")}
	}
	e := Status(res.StatusCode, said)
	if res.Request != nil {
		e = Unserved(e, res.Request.URL.Path)
	}
	if asked := After(res.Header, g.Clock()); asked > 0 {
		e.After = asked
	}
	return e
}

// Words are what a server says of a failure: the protocols agree on an object "error"
// with a message and a code, type or status, and differ in which of them is there.
type Words struct {
	Message string
	Code    string
	JSON    bool // the body was JSON
	Details Details
}

// Details are what Google's protocols say of a failure in a list beside its words
// (google.rpc.ErrorInfo, RetryInfo, QuotaFailure): the reason, how long to wait, and
// the quota that is used up.
type Details struct {
	Reason string
	After  time.Duration
	Quota  string
}

// Said reads the words, shortened to a line, without the secret.
func Said(body []byte, secret string) Words {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    any             `json:"code"`
		Type    string          `json:"type"`
	}
	clean := func(s string) string { return line(s, secret) }
	if json.Unmarshal(body, &shape) != nil {
		if page.Match(body) {
			return Words{Message: "it answered with a web page"}
		}
		return Words{Message: clean(string(body))}
	}
	var inner struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Status  string `json:"status"`
		Details json.RawMessage
	}
	var plain string
	if json.Unmarshal(shape.Error, &inner) != nil {
		_ = json.Unmarshal(shape.Error, &plain)
	}
	return Words{
		Message: clean(cmp.Or(inner.Message, plain, shape.Message, unescaped(shape.Detail))),
		Code:    clean(cmp.Or(word(inner.Code), inner.Status, inner.Type, word(shape.Code), shape.Type)),
		JSON:    true,
		Details: details(inner.Details),
	}
}

// unescaped is JSON without its escapes: a secret could hide in them.
func unescaped(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	text, _ := agentbound.EncodeJSON(v) // what was parsed encodes
	return string(text)
}

// detail is an entry of the list, whatever its type.
type detail struct {
	Reason     string `json:"reason"`
	RetryDelay string `json:"retryDelay"` // as in "13s"
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

// details are empty where another protocol uses the name for something else.
func details(raw json.RawMessage) (d Details) {
	var list []detail
	if json.Unmarshal(raw, &list) != nil {
		return d
	}
	for _, entry := range list {
		d.Reason = cmp.Or(d.Reason, entry.Reason)
		if wait, err := time.ParseDuration(entry.RetryDelay); err == nil && wait > 0 {
			d.After = max(d.After, wait)
		}
		for _, v := range entry.Violations {
			if d.Quota == "" || strings.Contains(v.QuotaID, "PerDay") {
				d.Quota = v.QuotaID
			}
		}
	}
	return d
}

var page = regexp.MustCompile(`(?i)^(?:\x{FEFF})?\s*(?:<!doctype html|<html|<head|<body)`)

// Page reports whether a body is a web page.
func Page(body []byte) bool { return page.Match(body) }

// word is a code that is a word: a number there repeats the status.
func word(code any) string {
	s, _ := code.(string)
	if _, err := strconv.Atoi(s); err == nil {
		return ""
	}
	return s
}

const (
	longest = 300      // bytes of a server's words
	looked  = 64 << 10 // bytes of them that are looked at
)

// line is what a server said as one line that a terminal may show. What cannot be seen is
// dropped before the secret is looked for: it could stand in the middle of it.
func line(s, secret string) string {
	if secret != "" {
		s = strings.ReplaceAll(s, secret, "[key]")
	}
	s = s[:min(len(s), looked)]
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if secret = strings.Join(strings.Fields(secret), " "); secret != "" {
		s = strings.ReplaceAll(s, secret, "[key]")
	}
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}

var (
	noBalance    = regexp.MustCompile(`(?i)credit balance is too low`)
	noCredit     = regexp.MustCompile(`(?i)insufficient[_ ](?:quota|balance|credit)|exceeded your current quota|billing|spend[_ ]limit`)
	noModel      = regexp.MustCompile(`(?i)model[_ ]not[_ ](?:found|exist)|^not_found_error models?:|\bmodels?\b.{0,120}(?:\bnot found\b|\bdoes ?n[o']t exist\b|\bdoes not exist\b|\bnot exist\b|\bis not (?:available|supported|a valid)\b|\bunknown\b)|\b(?:unknown|no such|invalid|unsupported) model\b`)
	noRoom       = regexp.MustCompile(`(?i)context[_ ](?:length|window|size|limit)|exceed_context|maximum context|prompt is too long|too many (?:input )?tokens|input token count`)
	overCapacity = regexp.MustCompile(`(?i)overloaded|rate[_ ]limit`)
)

// late are the statuses of who waited for an answer in vain: one may be under way, and
// paid for. 499 and 524 are those of servers that stand before others.
var late = []int{http.StatusRequestTimeout, 499, http.StatusGatewayTimeout, 524}

// Status is the fault that a status and a server's words make.
func Status(status int, said Words) *model.Error {
	e := &model.Error{Status: status, Code: said.Code, After: said.Details.After, Begun: slices.Contains(late, status)}
	is := func(f model.Fault, what, remedy string, quote bool) *model.Error {
		e.Fault, e.What, e.Remedy = f, fmt.Sprintf("%s (status %d)", what, status), remedy
		if quote && said.Message != "" {
			e.What += ": " + said.Message
		}
		return e
	}
	about := said.Code + " " + said.Message
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || said.Details.Reason == "API_KEY_INVALID":
		// Servers repeat a key that they do not know; what they say is left out.
		return is(model.FaultKey, "the server does not accept the key", "check the key and what it may use", false)
	case status == http.StatusProxyAuthRequired:
		return is(model.FaultAddress, "a proxy on the way wants credentials", proxyRemedy, false)
	case status == http.StatusTooManyRequests && said.Details.After > 0 && !strings.Contains(said.Details.Quota, "PerDay"):
		// Google speaks of the quota and the plan where a limit per minute was met, too.
		return is(model.FaultRate, "too many requests", "lower --concurrency, or try again later", true)
	case status == http.StatusPaymentRequired || status == http.StatusTooManyRequests && noCredit.MatchString(about),
		status == http.StatusBadRequest && noBalance.MatchString(about):
		return is(model.FaultQuota, "the account has no credit left", "add credit, or use another key", true)
	case status == http.StatusTooManyRequests:
		return is(model.FaultRate, "too many requests", "lower --endpoint-concurrency or --rpm, or try again later", true)
	case status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported,
		status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusConflict:
		return is(model.FaultServer, "the server failed", "", true)
	case status >= 300 && status < 400:
		return is(model.FaultAddress, "the server sends requests elsewhere", "give the base URL it leads to: a key is sent to no other address", false)
	case noRoom.MatchString(about):
		return is(model.FaultContext, "the conversation does not fit the model's context", "", true)
	case noModel.MatchString(about):
		return is(model.FaultModel, "the server does not serve this model", "check the model's name against the server's list", true)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented || !said.JSON:
		return is(model.FaultAddress, noProtocol, "check the base URL: most end in /v1", true)
	case overCapacity.MatchString(said.Code):
		return is(model.FaultServer, "the server is overloaded", "", true)
	}
	return is(model.FaultRequest, "the server rejects the request", "", true)
}

// noProtocol is said where nothing is known of what was asked for.
const noProtocol = "nothing here speaks the protocol"

// methods are the paths of the protocols, each with what speaks it.
var methods = []struct {
	path     *regexp.Regexp
	protocol string
}{
	{regexp.MustCompile(`(?:/v\d+)?/responses$`), "responses"},
	{regexp.MustCompile(`(?:/v\d+)?/chat/completions$`), "chat completions"},
	{regexp.MustCompile(`(?:/v\d+)?/completions$`), "plain completions"},
	{regexp.MustCompile(`(?:/v\d+)?/messages$`), "Messages"},
	{regexp.MustCompile(`(?:/v\d+[a-z]*)?/models/[^/:]+:(?:g|streamG)enerateContent$`), "generateContent"},
}

// Unserved says of a fault that there is nothing at an address what is missing there: the
// end of the path that was asked for, which is the protocol's. What stands before it may
// hold anything, and is not repeated. Other faults stay as they are.
func Unserved(e *model.Error, path string) *model.Error {
	rest, found := strings.CutPrefix(e.What, noProtocol)
	if !found {
		return e
	}
	for _, m := range methods {
		end := m.path.FindString(path)
		if end == "" {
			continue
		}
		said := *e
		said.What = "this server has no " + end + rest
		if strings.HasPrefix(end, "/v") {
			said.Remedy = "check the base URL: does the server there speak " + m.protocol + "?"
		}
		return &said
	}
	return e
}

// After is how long a server asks to wait: seconds or a date, and in milliseconds where a
// vendor is more exact; 0: it does not ask.
func After(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Malformed is an answer that is not JSON, or not of the protocol.
func Malformed(what string, body []byte) *model.Error {
	if Page(body) {
		return &model.Error{Fault: model.FaultAddress, What: "the server answered with a web page", Remedy: "check the base URL: most end in /v1"}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		what = "it is empty"
	}
	return &model.Error{Fault: model.FaultAnswer, What: "the answer is not one of the protocol: " + what}
}

// Inside is a failure that came inside of an answer whose status was a success, as relays
// and streams have it: raw is what stands under "error". Its code is a status, or a word
// that stands for one.
func Inside(raw []byte, secret string) *model.Error {
	var known struct {
		Code json.RawMessage `json:"code"`
		Type string          `json:"type"`
	}
	status := http.StatusBadGateway
	if json.Unmarshal(raw, &known) == nil {
		code := strings.Trim(string(known.Code), `"`)
		if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
			status = n
		} else {
			status = cmp.Or(statusOf(code), statusOf(known.Type), status)
		}
	}
	e := Status(status, Said([]byte(`{"error":`+string(raw)+`}`), secret))
	e.Begun = e.Fault == model.FaultServer || e.Fault == model.FaultRequest
	return e
}

// Midway is an error that a stream tells. Where its answer had begun, what there was of it
// may be charged for.
func Midway(err error, begun bool) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || !begun {
		return err
	}
	said := *e
	said.Begun = true
	return &said
}

func statusOf(code string) int {
	if strings.HasSuffix(code, "_policy") || strings.HasSuffix(code, "_policy_violation") {
		return http.StatusBadRequest
	}
	return statuses[code]
}

// statuses are what codes would have been answered with before the answer began.
var statuses = map[string]int{
	"rate_limit_exceeded": 429, "rate_limit_error": 429, "insufficient_quota": 429, "tokens": 429, "requests": 429,
	"overloaded_error": 529, "server_error": 500, "internal_error": 500, "api_error": 500,
	"context_length_exceeded": 400, "exceed_context_size_error": 400, "invalid_prompt": 400, "content_filter": 400, "invalid_request": 400,
	"model_not_found": 404, "invalid_api_key": 401,
}
