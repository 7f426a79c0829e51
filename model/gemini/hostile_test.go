package gemini_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/gemini"
)

// TestManySmallPieces: a long stream takes no longer than its length.
func TestManySmallPieces(t *testing.T) {
	const n = 100_000
	piece := "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"twelve bytes\"}]}}]}\r\r"
	peer := &always{200, "\ufeff" + strings.Repeat(piece, n) + "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n"}
	began := time.Now()
	m, err := gemini.New("m@http://127.0.0.1:1", gemini.Options{Stream: true, HTTP: peer})
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Chat(t.Context(), hello())
	if err != nil || len(res.Message.Text) != 12*n {
		t.Errorf("%d, %v", len(res.Message.Text), err)
	}
	if d := time.Since(began); d > 15*time.Second {
		t.Errorf("it took %s", d)
	}
}

// TestOddCounts: a turn is not lost for how its tokens are told.
func TestOddCounts(t *testing.T) {
	for usage, want := range map[string]model.Usage{
		`{"promptTokenCount":1e18,"candidatesTokenCount":2.5}`:                       {Input: 1e9, Output: 2},
		`{"promptTokenCount":"100","candidatesTokenCount":-7}`:                       {Input: 100},
		`{"promptTokenCount":null,"candidatesTokenCount":{"a":1}}`:                   {},
		`{"promptTokenCount":1e400,"candidatesTokenCount":[1]}`:                      {},
		`{"promptTokenCount":5,"thoughtsTokenCount":1e9,"candidatesTokenCount":1e9}`: {Input: 5, Output: 1e9, Reasoning: 1e9},
		`null`: {},
	} {
		peer := &always{200, `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":` + usage + `}`}
		res, err := open(t, "m@http://127.0.0.1:1", gemini.Options{HTTP: peer}).Chat(t.Context(), hello())
		if err != nil || res.Usage != want {
			t.Errorf("%s: %+v, %v", usage, res.Usage, err)
		}
	}
}
