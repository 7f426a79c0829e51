package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/anthropic"
)

// tally is a pace that holds nothing back and hears of every attempt.
type tally struct {
	most  []int // tokens that an answer might have
	bytes []int
	told  []model.Usage
}

func (p *tally) Enter(ctx context.Context) (func(model.Response, error), error) {
	bytes, most := model.Weight(ctx)
	p.most, p.bytes = append(p.most, most), append(p.bytes, bytes)
	return func(r model.Response, _ error) { p.told = append(p.told, r.Usage) }, nil
}

// paced opens a model with a policy of its own.
func paced(t *testing.T, spec string, o anthropic.Options) *anthropic.Model {
	t.Helper()
	m, err := anthropic.New(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const said = `{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"well"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":3}}`

// TestWhatAnAttemptMayCost: budgets hear of all that is asked for, thinking too, and of
// what the server tells.
func TestWhatAnAttemptMayCost(t *testing.T) {
	for name, test := range map[string]struct {
		effort string
		asked  int
		want   int
	}{
		"claude-haiku-4-5": {"high", 1000, 1000 + 16384}, "claude-sonnet-4-5": {"5000", 0, anthropic.DefaultMaxTokens + 5000},
		"claude-opus-4-8": {"high", 1000, 1000}, "m": {"", 0, anthropic.DefaultMaxTokens},
	} {
		p := &tally{}
		r := hello()
		r.MaxTokens = test.asked
		m := paced(t, name+"@http://127.0.0.1:1", anthropic.Options{Effort: test.effort, Retry: model.Retry{Pace: p}, HTTP: &always{body: said}})
		if _, err := m.Chat(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]int{test.want}, p.most); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got := anthropic.MaxTokens(name, test.effort, int64(test.asked)); got != int64(test.want) {
			t.Errorf("%s: told beforehand %d", name, got)
		}
		if d := cmp.Diff([]model.Usage{{Input: 7, Output: 3}}, p.told); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	p := &tally{}
	m := paced(t, "m@http://127.0.0.1:1", anthropic.Options{Retry: model.Retry{Pace: p}, HTTP: &pausing{ends: 1}})
	if _, err := m.Chat(t.Context(), hello()); err != nil || len(p.told) != 2 || p.bytes[1] <= p.bytes[0] {
		t.Errorf("a paused turn: %+v, %v", p, err)
	}
}

// TestFilter: what the vendor's filter blocks is a refusal, whichever way it is told.
func TestFilter(t *testing.T) {
	const blocked = `{"type":"error","error":{"details":null,"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`
	const other = `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}}`
	for name, peer := range map[string]http.RoundTripper{
		"as an answer": rejecting{400, blocked}, "in a stream": &always{body: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\nevent: error\ndata: " + blocked + "\n\n"},
	} {
		res, err := open(t, "m@http://127.0.0.1:1", anthropic.Options{HTTP: peer}).Chat(t.Context(), hello())
		if err != nil || res.Stop != model.StopRefusal || res.Refusal != "Output blocked by content filtering policy" || res.Message.Role != model.Assistant {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if res, err := open(t, "m@http://127.0.0.1:1", anthropic.Options{HTTP: rejecting{400, other}}).Chat(t.Context(), hello()); err == nil {
		t.Errorf("%+v", res)
	}
}

type rejecting struct {
	status int
	body   string
}

func (r rejecting) RoundTrip(*http.Request) (*http.Response, error) {
	return canned(r.status, r.body), nil
}

// TestManySmallPieces: a long stream takes no longer than its length, and none longer than
// an attempt may.
func TestManySmallPieces(t *testing.T) {
	const n = 100_000
	event := func(format string, args ...any) string { return "data: " + fmt.Sprintf(format, args...) + "\r\r" }
	body := "\ufeff" + event(`{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":{}}}`) +
		event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) +
		event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"look","input":{}}}`) +
		event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\""}}`) +
		strings.Repeat(event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, strings.Repeat("x", 60))+
			event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":%q}}`, strings.Repeat("y", 60)), n/2) +
		event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"}"}}`) +
		event(`{"type":"content_block_stop","index":0}`)
	end := event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}`) + event(`{"type":"message_stop"}`)
	began := time.Now()
	m := paced(t, "m@http://127.0.0.1:1", anthropic.Options{Stream: true, HTTP: &always{body: body + end}})
	res, err := m.Chat(t.Context(), hello())
	if err != nil || len(res.Message.Text) != n*30 || len(res.Message.Calls) != 1 || len(res.Message.Calls[0].Args) != n*30+len(`{"a":""}`) {
		t.Fatalf("%d, %v", len(res.Message.Text), err)
	}
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("it took %s", d)
	}
}
