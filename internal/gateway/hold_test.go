package gateway_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/internal/gateway"
)

// sends is an upstream that gives one answer, with its headers.
func sends(t *testing.T, kind, body string, zip bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		if zip {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, body)
			z.Close()
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// frames are events of a stream, each of which is JSON, or a whole frame where it is none.
func frames(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		if !strings.HasPrefix(e, "{") {
			b.WriteString(e)
			continue
		}
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// TestNoCallPasses: whatever form an answer has, the client learns of no call before the
// corrector has cleared the Thought. It fails here, and everything of the kind is held.
func TestNoCallPasses(t *testing.T) {
	const (
		call  = `{"index":0,"id":"c","type":"function","function":{"name":"wipe","arguments":"{}"}}`
		begin = `{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"I do."}}]}`
		stop  = `{"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
		done  = "data: [DONE]\n\n"
		whole = `{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"I do.","tool_calls":[` + call + `]},"finish_reason":"tool_calls"}]}`

		item      = `{"type":"function_call","id":"f","call_id":"c","name":"wipe","arguments":"{}"}`
		said      = `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"I do."}]}`
		created   = `{"type":"response.created","sequence_number":0,"response":{"id":"r","output":[]}}`
		completed = `{"type":"response.completed","sequence_number":9,"response":{"id":"r","status":"completed","output":[` + said + `]}}`
		emptied   = `{"type":"response.completed","sequence_number":9,"response":{"id":"r","status":"completed","output":[]}}`

		start  = `{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","content":[],"usage":{}}}`
		text   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I do."}}`
		ended  = `{"type":"content_block_stop","index":0}`
		use    = `{"type":"tool_use","id":"u","name":"wipe","input":{}}`
		begins = `{"type":"content_block_start","index":1,"content_block":` + use + `}`
		over   = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}`
		last   = `{"type":"message_stop"}`

		part = `{"candidates":[{"content":{"role":"model","parts":[{"text":"I do."}]}}]}`
		fn   = `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"wipe","args":{}}}]}}]}`
		fin  = `{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}]}`
	)
	const stream, plain = "text/event-stream", "application/json"
	oneCall := `{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[` + call + `]}}]}`
	requests := map[string]string{
		"/chat/completions": `{"model":"m","stream":true,"messages":[{"role":"user","content":"Do."}],"tools":[{"type":"function","function":{"name":"wipe"}}]}`,
		"/responses":        `{"model":"m","stream":true,"store":false,"input":"Do.","tools":[{"type":"function","name":"wipe"}]}`,
		"/v1/messages":      `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"Do."}],"tools":[{"name":"wipe","input_schema":{}}]}`,
		"/v1beta/models/m:streamGenerateContent?alt=sse": `{"contents":[{"role":"user","parts":[{"text":"Do."}]}],"tools":[{"functionDeclarations":[{"name":"wipe"}]}]}`,
	}
	const chat, responses, messages, google = "/chat/completions", "/responses", "/v1/messages", "/v1beta/models/m:streamGenerateContent?alt=sse"
	for name, test := range map[string]struct {
		path, kind, body string
		zip, whole       bool // compressed; no stream was asked for
	}{
		"calls":                             {path: chat, kind: stream, body: frames(begin, oneCall, stop, done)},
		"calls before text":                 {path: chat, kind: stream, body: frames(oneCall, begin, stop, done)},
		"function_call":                     {path: chat, kind: stream, body: frames(begin, `{"choices":[{"index":0,"delta":{"function_call":{"name":"wipe","arguments":"{}"}}}]}`, stop, done)},
		"custom":                            {path: chat, kind: stream, body: frames(begin, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"wipe","input":"x"}}]}}]}`, stop, done)},
		"a message in a chunk":              {path: chat, kind: stream, body: frames(begin, `{"choices":[{"index":0,"message":{"tool_calls":[`+call+`]}}]}`, stop, done)},
		"message that ends":                 {path: chat, kind: stream, body: frames(begin, `{"choices":[{"index":0,"delta":{},"message":{"tool_calls":[`+call+`]},"finish_reason":"stop"}]}`, done)},
		"another choice":                    {path: chat, kind: stream, body: frames(begin, strings.Replace(oneCall, `"index":0,"delta"`, `"index":1,"delta"`, 1), stop, done)},
		"no end":                            {path: chat, kind: stream, body: frames(begin, oneCall)},
		"no end, no blank line":             {path: chat, kind: stream, body: strings.TrimSpace(frames(begin, oneCall))},
		"CRLF":                              {path: chat, kind: stream, body: strings.ReplaceAll(frames(begin, oneCall, stop, done), "\n", "\r\n")},
		"CR":                                {path: chat, kind: stream, body: strings.ReplaceAll(frames(begin, oneCall, stop, done), "\n", "\r")},
		"comments":                          {path: chat, kind: stream, body: frames(": hello\n\n", begin, ": wait\n"+frames(oneCall), stop, done)},
		"BOM":                               {path: chat, kind: stream, body: "\ufeff" + frames(oneCall, stop, done)},
		"compressed":                        {path: chat, kind: stream, body: frames(begin, oneCall, stop, done), zip: true},
		"after the end":                     {path: chat, kind: stream, body: frames(begin, stop, done, oneCall)},
		"whole, a stream was asked":         {path: chat, kind: plain, body: whole},
		"whole, called a stream":            {path: chat, kind: stream, body: whole},
		"whole, called a stream, not asked": {path: chat, kind: stream, body: whole, whole: true},
		"whole, in lines":                   {path: chat, kind: stream, body: "{\n\n" + whole[1:] + "\n\n"},
		"a stream that was not asked":       {path: chat, kind: stream, body: frames(begin, oneCall, stop, done), whole: true},
		"a stream, called JSON":             {path: chat, kind: plain, body: frames(begin, oneCall, stop, done)},
		"a stream, called text":             {path: chat, kind: "text/plain", body: frames(begin, oneCall, stop, done), whole: true},
		"whole, with a BOM":                 {path: chat, kind: plain, body: "\ufeff" + whole, whole: true},
		"whole, not a number":               {path: chat, kind: plain, body: strings.Replace(whole, `"id":"1"`, `"id":NaN`, 1), whole: true},
		"whole, and more":                   {path: chat, kind: plain, body: whole + "\n{}", whole: true},

		"item":                    {path: responses, kind: stream, body: frames(created, `{"type":"response.output_item.added","output_index":0,"item":`+item+`}`, `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`, completed)},
		"begins with calls":       {path: responses, kind: stream, body: frames(strings.Replace(created, "[]", "["+item+"]", 1), completed)},
		"goes on with calls":      {path: responses, kind: stream, body: frames(created, `{"type":"response.in_progress","response":{"id":"r","output":[`+item+`]}}`, completed)},
		"never done":              {path: responses, kind: stream, body: frames(created, `{"type":"response.output_item.added","output_index":0,"item":`+item+`}`, emptied)},
		"not in the response":     {path: responses, kind: stream, body: frames(created, `{"type":"response.output_item.added","output_index":0,"item":`+item+`}`, completed)},
		"unknown event":           {path: responses, kind: stream, body: frames(created, `{"type":"response.output_item.moved","output_index":0,"item":`+item+`}`, completed)},
		"after it completed":      {path: responses, kind: stream, body: frames(created, completed, `{"type":"response.output_item.added","output_index":1,"item":`+item+`}`, `{"type":"response.output_item.done","output_index":1,"item":`+item+`}`)},
		"pieces before items":     {path: responses, kind: stream, body: frames(created, `{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":"wipe"}`, completed)},
		"block":                   {path: messages, kind: stream, body: frames(start, text, ended, begins, strings.Replace(ended, "0", "1", 1), over, last)},
		"begins with blocks":      {path: messages, kind: stream, body: frames(strings.Replace(start, "[]", "["+use+"]", 1), over, last)},
		"after it stopped":        {path: messages, kind: stream, body: frames(start, text, ended, over, last, begins, strings.Replace(ended, "0", "1", 1))},
		"refused, and called":     {path: messages, kind: stream, body: frames(start, begins, strings.Replace(ended, "0", "1", 1), strings.Replace(over, "end_turn", "refusal", 1), last)},
		"cut, and called":         {path: messages, kind: stream, body: frames(start, begins, strings.Replace(ended, "0", "1", 1), strings.Replace(over, "end_turn", "max_tokens", 1), last)},
		"part":                    {path: google, kind: stream, body: frames(part, fn, fin)},
		"blocked, and called":     {path: google, kind: stream, body: frames(part, fn, `{"promptFeedback":{"blockReason":"OTHER"}}`)},
		"called after the end":    {path: google, kind: stream, body: frames(part, fin, fn)},
		"a list":                  {path: google, kind: plain, body: "[" + fn + "," + fin + "]"},
		"a list, called a stream": {path: google, kind: stream, body: "[" + fn + "\n,\n" + fin + "]"},
	} {
		t.Run(name, func(t *testing.T) {
			body := requests[test.path]
			if test.whole {
				body = strings.Replace(body, `"stream":true`, `"stream":false`, 1)
			}
			upstream := sends(t, test.kind, test.body, test.zip)
			for _, pass := range []bool{false, true} { // what ends without calls passes unasked
				s := front(t, upstream, fails(), gateway.Options{PassFinal: pass})
				if _, got, _ := post(t.Context(), t, s.base+test.path, body); strings.Contains(got, "wipe") {
					t.Errorf("final passes: %v; it passed:\n%s", pass, got)
				}
			}
		})
	}
}

// TestLateCalls: what comes after the end of a turn that was kept was decided on by nobody.
func TestLateCalls(t *testing.T) {
	late := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"wipe","arguments":"{}"}}]}}]}`
	kept := said(true, draft)
	for _, piece := range []string{kept + ": bye\n\n" + frames(late), kept + "data: [DONE]\n\n{}\n\n" + frames(late)} {
		s := front(t, sends(t, "text/event-stream", piece, false), nil, gateway.Options{})
		_, got, err := post(t.Context(), t, s.base+"/chat/completions", strings.Replace(chatAsksNow, `"read"`, `"wipe"`, 1))
		if err != nil || !strings.HasPrefix(got, kept) || strings.Contains(got[len(kept):], "wipe") {
			t.Errorf("%v, %s", err, got)
		}
	}
}

const chatAsksNow = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Do."}],"tools":[{"type":"function","function":{"name":"read"}}]}`

// TestRedirects: a server that sends clients elsewhere would send them past the gateway.
func TestRedirects(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.invalid"+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(up.Close)
	s := front(t, up.URL, nil, gateway.Options{})
	res, got, err := post(t.Context(), t, s.base+"/chat/completions", chatAsksNow)
	if err != nil || res.StatusCode != http.StatusBadGateway || res.Header.Get("Location") != "" || !strings.Contains(got, "past the proxy") {
		t.Errorf("%v, %v, %s", err, res, got)
	}
	res, err = http.Get(s.base + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusBadGateway || res.Header.Get("Location") != "" {
		t.Error(res)
	}
}

// TestThinkingIsEnded: a turn that called before it ended its reasoning goes on with the
// corrected Thought as its text, and not as more of the reasoning.
func TestThinkingIsEnded(t *testing.T) {
	base, _ := answers(t, said(true, "<think>I wipe", callOf("a", "{}")), said(true, "", callOf("b", "{}")))
	s := front(t, base, changes("I wipe", "I wait."), gateway.Options{})
	_, got, err := post(t.Context(), t, s.base+"/chat/completions", chatAsksNow)
	if err != nil {
		t.Fatal(err)
	}
	if turn := readBack(t, got); turn.Thought != "I wait." || turn.Reasoning != "I wipe" || len(turn.Calls) != 1 || turn.Calls[0].ID != "b" {
		t.Errorf("%+v", turn)
	}
}

// TestWordsStay: words that stand in a header with a key are no keys in what a model says.
func TestWordsStay(t *testing.T) {
	const text = "I send the Bearer token of user 4096."
	base, _ := answers(t, said(false, text, callOf("a", "{}")))
	c := changes("", "")
	s := front(t, base, c, gateway.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/chat/completions", strings.NewReader(strings.Replace(chatAsksNow, `"stream":true`, `"stream":false`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("X-Max-Tokens", "4096")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if seen := c.contexts(); len(seen) != 1 || seen[0].Thought != text {
		t.Errorf("%+v", seen)
	}
}
