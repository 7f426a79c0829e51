package openai_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/openai"
)

// FuzzAnswer: whatever a server sends is a turn or a fault that has a message, and a turn
// can be sent back.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"status":"completed","output":[{"type":"reasoning","id":"r","summary":[{"text":"hm"}],"encrypted_content":"x"},{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}],"usage":{"input_tokens":1}}`,
		`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, `{"status":"failed","error":{"code":"server_error"}}`, `{"output":[1,null,{"type":"message","content":"a"}]}`,
		"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n", "event: error\ndata: {}\n\n", "data: {\"type\":\"response.output_item.done\",\"item\":[]}\n\n", `<html>`, ``, `null`,
	} {
		f.Add(body)
	}
	var body string
	m, err := openai.New("m@http://127.0.0.1:1", openai.Options{Retry: modeltest.Retry(), HTTP: canned{&body}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body = text
		r := hello()
		res, err := m.Chat(t.Context(), r)
		if e, ok := errors.AsType[*model.Error](err); err != nil && (!ok || e.What == "" || e.Who == "") {
			t.Fatalf("error %#v", err)
		}
		if err != nil {
			return
		}
		if res.Stop == "" || res.Message.Role != model.Assistant {
			t.Errorf("%+v", res)
		}
		for _, text := range []string{res.Message.Text, "edited"} {
			body = empty
			res.Message.Text = text
			back := r
			back.Messages = append([]model.Message{}, r.Messages[0], res.Message)
			if _, err := m.Chat(t.Context(), back); err != nil {
				t.Errorf("it cannot go back: %v", err)
			}
		}
	})
}

// canned answers without a server.
type canned struct{ body *string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(*c.body)), Request: r}, nil
}
