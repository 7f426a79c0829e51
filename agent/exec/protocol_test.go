package exec

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
)

func TestDecode(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want episode.Decision
	}{
		"calls": {
			`{"type":"act","thought":"Look.","calls":[{"tool":"a","args":{"n":1.0}},{"tool":"b"}]}`,
			episode.Decision{Thought: "Look.", Calls: []agentbound.Call{{Tool: "a", Args: agentbound.Value(`{"n":1.0}`)}, {Tool: "b", Args: agentbound.Value(`{}`)}}},
		},
		"no calls": {`{"type":"act","calls":[]}`, episode.Decision{Calls: []agentbound.Call{}}},
		"an outcome": {
			`{"type":"act","thought":"No.","outcome":{"word":"declined","reason":"barred","text":"I will not.","refused_by":"provider"}}`,
			episode.Decision{Thought: "No.", Outcome: &agentbound.Outcome{Word: agentbound.Declined, Reason: "barred", Text: "I will not.", RefusedBy: "provider"}},
		},
		"null is absent": {
			`{"type":"act","thought":null,"thought_source":null,"usage":null,"outcome":null,"calls":[{"tool":"a","args":null}]}`,
			episode.Decision{Calls: []agentbound.Call{{Tool: "a", Args: agentbound.Value(`{}`)}}},
		},
		"unknown fields": {
			`{"type":"act","version":9,"Thought":"x","outcome":{"word":"done","Reason":"x","mood":[]},"Calls":1}`,
			episode.Decision{Outcome: &agentbound.Outcome{Word: agentbound.Done}},
		},
		"what it cost": {
			`{"type":"act","thought":"t","thought_source":"reasoning","calls":[],"usage":{"input_tokens":9,"output_tokens":3,"usd":0.5,"cached":1}}`,
			episode.Decision{Thought: "t", Source: agentbound.ThoughtReasoning, Calls: []agentbound.Call{}, Usage: agentbound.Usage{InputTokens: 9, OutputTokens: 3, USD: 0.5}},
		},
		"arguments of any kind": {
			` { "type" : "act" , "calls" : [ {"tool":"a","args":"{not json"} , {"tool":"b","args":[1, 2]} ] } ` + "\r\n",
			episode.Decision{Calls: []agentbound.Call{{Tool: "a", Args: agentbound.Value(`"{not json"`)}, {Tool: "b", Args: agentbound.Value(`[1, 2]`)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for line, want := range map[string]string{
		``:                                "not a JSON object",
		`{"type":"act"`:                   "not a JSON object",
		`{"type":"act","calls":[]} {}`:    "not a JSON object",
		`{"calls":[]}`:                    `type "" is not known`,
		`{"type":7}`:                      "type is not a text",
		`{"type":"act","thought":1}`:      "either calls or an outcome",
		`{"type":"act","calls":{}}`:       "calls is not a list",
		`{"type":"act","calls":[1]}`:      "calls[0] is not an object",
		`{"type":"act","calls":[null]}`:   "calls[0] is not an object",
		`{"type":"act","outcome":"done"}`: "outcome is not an object",
		`{"type":"act","outcome":{}}`:     `outcome "" is not known`,
		`{"type":"act","outcome":{"word":"done","reason":1}}`:                     "outcome.reason is not a text",
		`{"type":"act","outcome":{"word":"done","refused_by":"provider"}}`:        "accepted: provider, with the word declined",
		`{"type":"act","calls":[],"thought":[]}`:                                  "thought is not a text",
		`{"type":"act","calls":[],"thought_source":"soul"}`:                       `thought source "soul" is not known`,
		`{"type":"act","calls":[],"usage":{"input_tokens":-1}}`:                   "usage is below 0",
		`{"type":"act","calls":[],"usage":{"output_tokens":9223372036854775807}}`: "usage is more than one decision can cost",
		`{"type":"act","calls":[],"usage":{"usd":1e308}}`:                         "usage is more than one decision can cost",
		`{"type":"act","calls":[],"usage":{"output_tokens":1.5}}`:                 "usage.output_tokens is not taken",
		`{"type":"act","calls":[` + strings.Repeat(`{"tool":"a"},`, 256) + `{}]}`: "257 calls in one message",
	} {
		d, err := decode([]byte(line))
		if !errors.As(err, new(refused)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %+v, error %v, want %q in it", line, d, err, want)
		}
	}
}

// FuzzDecode: a line is refused, or read as what it says: decided one way, and the same
// once more when it is written down and read back.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		`{"type":"act","thought":"t","calls":[{"tool":"a","args":{"n":1e400,"s":"\ud800"}}]}`,
		`{"type":"act","outcome":{"word":"unable","reason":"r","text":"t"},"usage":{"usd":1e-9}}`,
		`{"type":"act","calls":[[[[[]]]]]}`, `{"type":"act","type":"think","calls":[]}`, "{\"type\":\"\xff\"}", `null`, `[]`, `{"type":"hello"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		d, err := decode(line)
		if err != nil {
			if !errors.As(err, new(refused)) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if (d.Outcome == nil) == (d.Calls == nil) || len(d.Calls) > maxCalls {
			t.Fatalf("decided %+v", d)
		}
		for _, c := range d.Calls {
			if c.Tool == "" || !json.Valid(c.Args) {
				t.Fatalf("call %+v", c)
			}
		}
		again := map[string]any{"type": "act", "thought": d.Thought, "usage": d.Usage}
		if d.Source != "" {
			again["thought_source"] = d.Source
		}
		if d.Outcome != nil {
			again["outcome"] = d.Outcome
		} else {
			again["calls"] = d.Calls
		}
		text, err := encode(again)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), "\n") != 1 {
			t.Fatalf("more than a line: %q", text)
		}
		back, err := decode(text)
		if err != nil {
			t.Fatalf("written down as %s: %v", text, err)
		}
		for _, calls := range [][]agentbound.Call{d.Calls, back.Calls} { // white space, and the form of the two separators, may differ
			for i := range calls {
				calls[i].Args = compact(t, calls[i].Args)
			}
		}
		if diff := cmp.Diff(d, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

func compact(t *testing.T, v agentbound.Value) agentbound.Value {
	t.Helper()
	b, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLinesAreLines: no reader takes a message for two lines.
func TestLinesAreLines(t *testing.T) {
	line, err := encode(observe([]episode.Observation{{Call: agentbound.Call{Tool: "a"}, OK: true, Value: agentbound.Value("\"a\u2028b\u2029c<&>\"")}}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"observe","observations":[{"tool":"a","ok":true,"observation":"a\u2028b\u2029c<&>"}]}` + "\n"
	if string(line) != want {
		t.Errorf("%q, want %q", line, want)
	}
}
