package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/internal/wire"
)

// TestKeys: the dummy goes in at any of its places and the real key out at the same; none,
// a wrong one, or two of which one is wrong, are refused in the protocol's own words.
func TestKeys(t *testing.T) {
	var header http.Header
	var query string
	asked := 0
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header, query, asked = r.Header, r.URL.RawQuery, asked+1
		http.Error(w, "{}", http.StatusTeapot)
	})
	var l log
	base := front(t, up, l.options())
	const gemini = "/v1beta/models/m:generateContent"
	for _, c := range []struct {
		path   string
		header []string
		at     string // where the real key arrives; empty: refused
	}{
		{"/v1/responses", nil, "Authorization"},
		{"/v1/messages", []string{"Authorization", "", "X-Api-Key", dummyKey}, "X-Api-Key"},
		{gemini, []string{"Authorization", "", "X-Goog-Api-Key", dummyKey}, "X-Goog-Api-Key"},
		{gemini + "?alt=json&key=" + dummyKey + "&b=2", []string{"Authorization", ""}, "X-Goog-Api-Key"},
		{"/v1/responses", []string{"Authorization", ""}, ""},
		{"/v1/responses", []string{"Authorization", "Basic " + dummyKey}, ""},
		{"/v1/responses", []string{"Authorization", "Bearer x"}, ""},
		{"/v1/responses", []string{"Authorization", "Bearer " + realKey}, ""},
		{"/v1/messages", []string{"X-Api-Key", "another"}, ""},
		{gemini + "?key=another", nil, ""},
		{gemini + "?key=" + dummyKey + "&key=another", nil, ""},
	} {
		asked = 0
		res, got, err := post(t, base+c.path, "{}", c.header...)
		if err != nil {
			t.Fatal(err)
		}
		if c.at == "" {
			if res.StatusCode != http.StatusUnauthorized || asked > 0 || !json.Valid(got) {
				t.Errorf("%s %v: status %d, %s", c.path, c.header, res.StatusCode, got)
			}
			continue
		}
		if res.StatusCode != http.StatusTeapot || strings.TrimPrefix(header.Get(c.at), "Bearer ") != realKey {
			t.Errorf("%s: status %d, %v", c.path, res.StatusCode, header)
		}
		for name, values := range header {
			if v := strings.Join(values, ","); strings.Contains(v, dummyKey) || name != c.at && strings.Contains(v, realKey) {
				t.Errorf("%s: %s %s", c.path, name, v)
			}
		}
		if strings.Contains(query, dummyKey) || strings.Contains(c.path, "b=2") && query != "alt=json&b=2" {
			t.Errorf("query %q", query)
		}
	}
	for _, f := range l.faults {
		if s := fmt.Sprint(f, f.Server); strings.Contains(s, realKey) {
			t.Errorf("a fault tells the key: %s", s)
		}
	}
}

// TestKeyStaysOut: a server that repeats the key, anywhere and however it spells it, does
// not tell the program.
func TestKeyStaysOut(t *testing.T) {
	quoted := strings.ReplaceAll(realKey, "/", `\/`)
	for _, s := range samples() {
		for _, stream := range []bool{true, false} {
			for _, edits := range []bool{true, false} {
				answer := strings.ReplaceAll(s.whole, "look", quoted)
				if stream {
					answer = strings.ReplaceAll(strings.Join(s.events, "")+": "+realKey+"\n\ntail "+realKey, "look", realKey)
				}
				status := http.StatusOK
				up := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
					w.Header().Set("X-Echo", r.Header.Get("Authorization"))
					w.WriteHeader(status)
					for i := range len(answer) {
						_, _ = io.WriteString(w, answer[i:i+1])
						_ = http.NewResponseController(w).Flush()
					}
				})
				var l log
				o := l.options()
				if edits {
					o.Edit = func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{Withhold: true}, nil }
				}
				base := front(t, up, o)
				for _, status = range []int{http.StatusOK, http.StatusUnauthorized} {
					res, got, err := post(t, base+s.path, s.body)
					if err != nil || !bytes.Contains(got, []byte(dummyKey)) {
						t.Errorf("%s: %q, %v", s.protocol, got, err)
					}
					told := string(got) + fmt.Sprint(res.Header, l.faults)
					for _, turn := range l.turns {
						told += turn.Text + turn.Thought + turn.Reasoning + fmt.Sprint(turn.Calls)
						if d := turn.Draft; d != nil {
							told += d.Text + fmt.Sprint(d.Calls)
						}
					}
					if strings.Contains(told, realKey) || strings.Contains(told, quoted) {
						t.Errorf("%s, streamed %v: %s", s.protocol, stream, told)
					}
				}
			}
		}
	}
}

// TestKeyInPieces: what no piece of an answer has, and what is put together of them has:
// where turns are decided on, the program gets none of it, and nobody is told the key.
func TestKeyInPieces(t *testing.T) {
	const half = len(realKey) / 2
	event := func(delta string) string {
		return `data: {"id":"c","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
	}
	for what, deltas := range map[string][2]string{
		"text":      {`{"content":"` + realKey[:half] + `"}`, `{"content":"` + realKey[half:] + `"}`},
		"arguments": {`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"k\":\"` + realKey[:half] + `"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"` + realKey[half:] + `\"}"}}]}`},
		"escaped":   {`{"content":"look"}`, `{"content":"\u0073` + realKey[1:] + `"}`},
	} {
		up := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event(deltas[0])+event(deltas[1])+`data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		})
		var l log
		o := l.options()
		o.Edit = func(context.Context, wire.Turn) (wire.Edit, error) {
			t.Errorf("%s: a turn is decided on", what)
			return wire.Edit{}, nil
		}
		res, got, err := post(t, front(t, up, o)+"/v1/chat/completions", `{"model":"m","stream":true,"messages":[]}`)
		if err != nil || res.StatusCode != http.StatusBadGateway || len(l.turns) > 0 || len(l.faults) != 1 || l.faults[0].Kind != wire.BadAnswer {
			t.Errorf("%s: %v, %+v, %+v, %v", what, res, l.turns, l.faults, err)
		}
		if told := string(got) + fmt.Sprint(l.faults); strings.Contains(told, realKey[half:]) || !strings.Contains(told, "in pieces") {
			t.Errorf("%s: %s", what, told)
		}
	}
}
