package completion_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/completion"
	"github.com/agentbound/agentbound/model/modeltest"
)

func connect(t *testing.T, o modeltest.Options) (*modeltest.Peer, *completion.Model) {
	t.Helper()
	o.Protocol = modeltest.Completion{}
	p := modeltest.Serve(t, o)
	m, err := completion.New("completion:test-model@"+p.URL, completion.Options{Key: o.Key, Retry: modeltest.Retry()})
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

func says(text string) modeltest.Player {
	return func(model.Request) model.Response {
		res := modeltest.Says(text)
		res.Usage = model.Usage{Input: 7, Output: 3}
		return res
	}
}

func ask(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: text}}}
}

// TestArrives: the text arrives as it stands, with what else was asked, and what comes
// after it comes back as it stands.
func TestArrives(t *testing.T) {
	var got model.Request
	_, m := connect(t, modeltest.Options{Key: "a-key", Play: func(r model.Request) model.Response {
		got = r
		return says(" <b>after</b>\n")(r)
	}})
	want := ask("BEGIN \"x\" </s>\n")
	seed := int64(7)
	want.Temperature, want.Seed, want.MaxTokens = new(float64), &seed, 99
	res, err := m.Chat(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(model.Response{
		Message: model.Message{Role: model.Assistant, Text: " <b>after</b>\n"}, Stop: model.StopEnd, Model: "test-model", Usage: model.Usage{Input: 7, Output: 3},
	}, res); d != "" {
		t.Error(d)
	}
}

// TestStops: a cut and a filtered text are told as such.
func TestStops(t *testing.T) {
	for _, stop := range []model.Stop{model.StopLength, model.StopRefusal} {
		_, m := connect(t, modeltest.Options{Play: func(model.Request) model.Response {
			res := modeltest.Says("half")
			res.Stop = stop
			return res
		}})
		if res, err := m.Chat(t.Context(), ask("x")); err != nil || res.Stop != stop {
			t.Errorf("%s: %+v, %v", stop, res, err)
		}
	}
}

// TestFaults: what passes is tried again, what does not says what it is; the key is in no
// error.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		fault modeltest.Fault
		want  model.Fault
		tries int
	}{
		"busy":         {modeltest.Status(http.StatusServiceUnavailable, "", "busy"), model.FaultServer, 3},
		"wrong key":    {modeltest.Status(http.StatusUnauthorized, "invalid_api_key", "no: a-key-that-is-secret"), model.FaultKey, 1},
		"no model":     {modeltest.Status(http.StatusNotFound, "model_not_found", "none"), model.FaultModel, 1},
		"no JSON":      {modeltest.Body(http.StatusOK, "application/json", `{"id": "x", `), model.FaultAnswer, 3},
		"no text":      {modeltest.Body(http.StatusOK, "application/json", `{"choices":[{"message":{"content":"x"}}]}`), model.FaultAnswer, 3},
		"no choice":    {modeltest.Body(http.StatusOK, "application/json", `{"choices":[]}`), model.FaultAnswer, 3},
		"broken off":   {modeltest.Cut(), model.FaultConnection, 3},
		"error inside": {modeltest.Body(http.StatusOK, "application/json", `{"error":{"message":"out of memory","code":500}}`), model.FaultServer, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p, m := connect(t, modeltest.Options{Key: "a-key-that-is-secret", Play: says("x"), Misbehave: modeltest.Always(test.fault)})
			_, err := m.Chat(t.Context(), ask("x"))
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Fault != test.want || len(p.Requests()) != test.tries || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v after %d", err, len(p.Requests()))
			}
		})
		p, m := connect(t, modeltest.Options{Play: says("x"), Misbehave: modeltest.First(1, test.fault)})
		if _, err := m.Chat(t.Context(), ask("x")); (err == nil) != (test.tries > 1) {
			t.Errorf("%s once: %v after %d", name, err, len(p.Requests()))
		}
	}
}

// TestRefuses what the endpoint has no place for, and specifications that are none.
func TestRefuses(t *testing.T) {
	p, m := connect(t, modeltest.Options{Play: says("x")})
	for name, r := range map[string]model.Request{
		"nothing": {}, "two": {Messages: make([]model.Message, 2)}, "a system": {Messages: []model.Message{{Role: model.System, Text: "x"}}},
		"tools": {Messages: ask("x").Messages, Tools: make([]agentbound.Tool, 1)},
	} {
		if _, err := m.Chat(t.Context(), r); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if len(p.Requests()) > 0 {
		t.Error("something was sent")
	}
	for _, spec := range []string{"", "completion:m", "completion:m@http://u:hunter22@h/v1", "completion:m@http://h/v1?key=hunter22"} {
		if _, err := completion.New(spec, completion.Options{}); err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%q: %v", spec, err)
		}
	}
	if ref := m.Ref(); ref.Name != "completion:test-model@"+p.URL || ref.Settings["base_url"] != p.URL {
		t.Errorf("%+v", ref)
	}
}
