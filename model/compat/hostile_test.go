package compat_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
)

// body answers with itself.
type body string

func (b body) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(b)))}, nil
}

func asked(t *testing.T, b body) (model.Response, error) {
	t.Helper()
	m, err := compat.New("openrouter:m@http://127.0.0.1:1/v1", compat.Options{HTTP: b, Stream: true, Retry: model.Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return m.Chat(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}})
}

func pieces(n int, format string) body {
	var b strings.Builder
	b.WriteString("\ufeff: hello\r\r")
	for i := range n {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"delta\":"+format+"}]}\r\r", i)
	}
	return body(b.String() + "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\r\rdata: [DONE]")
}

// TestManySmallPieces: a long stream takes no longer than its length.
func TestManySmallPieces(t *testing.T) {
	const n = 60_000
	began := time.Now()
	res, err := asked(t, pieces(n, `{"reasoning_details":[{"index":0,"type":"reasoning.text","text":"<%06d>"}],"content":"x"}`))
	if err != nil || len(res.Message.Text) != n || strings.Count(string(res.Message.State), "<") != n || strings.Count(string(res.Message.State), "index") != 1 {
		t.Errorf("%d, %v", len(res.Message.Text), err)
	}
	res, err = asked(t, pieces(n/10, `{"tool_calls":[{"index":%d,"function":{"name":"f"}}]}`))
	if err != nil || len(res.Message.Calls) != n/10 {
		t.Errorf("%d calls, %v", len(res.Message.Calls), err)
	}
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("it took %s", d)
	}
}

// TestFullOfNothing: a small answer of very many values is none, before it fills the
// memory; one that is full of marks in its text is one.
func TestFullOfNothing(t *testing.T) {
	whole := func(message string) body {
		return body(`{"choices":[{"message":` + message + `,"finish_reason":"stop"}]}`)
	}
	for name, b := range map[string]body{
		"choices":     body(`{"choices":[` + strings.Repeat("0,", 1<<20) + `0]}`),
		"calls":       whole(`{"tool_calls":[` + strings.Repeat("{},", 1<<20) + `{}]}`),
		"annotations": whole(`{"annotations":[` + strings.Repeat("[],", 1<<20) + `0]}`),
		"in an event": body("data: {\"choices\":[{\"delta\":{\"tool_calls\":[" + strings.Repeat("{},", 1<<20) + "{}]}}]}\n\n"),
		"in events":   pieces(120_000, `{"tool_calls":[{"index":%d}]}`),
	} {
		_, err := asked(t, b)
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != model.FaultAnswer || !strings.Contains(e.What, "more than 100000 values") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if res, err := asked(t, whole(`{"content":"`+strings.Repeat(`{[,\",:`, 1<<18)+`"}`)); err != nil || len(res.Message.Text) != 6<<18 {
		t.Errorf("%d, %v", len(res.Message.Text), err)
	}
}
