package transport_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// get asks a server that answers with h.
func get(t *testing.T, o transport.Options, h http.HandlerFunc) (string, error) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	res, err := transport.Client(o).Get(s.URL + "/?q=hunter2")
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnswersPass(t *testing.T) {
	if body, err := get(t, transport.Options{Limit: 5}, answer(200, "12345")); err != nil || body != "12345" {
		t.Errorf("%q, %v", body, err)
	}
	_, err := get(t, transport.Options{Limit: 4}, answer(200, "12345"))
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != model.FaultAnswer {
		t.Errorf("error %v", err)
	}
}

// TestEndlessAnswers: no more is read than may be.
func TestEndlessAnswers(t *testing.T) {
	_, err := get(t, transport.Options{Limit: 1 << 16}, func(w http.ResponseWriter, r *http.Request) {
		for range 1 << 14 { // 16 MiB at most
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
		t.Error("it was read to the end")
	})
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != model.FaultAnswer {
		t.Errorf("error %v", err)
	}
}

// TestWords: the shapes of errors of the four protocols, and of what stands before them.
func TestWords(t *testing.T) {
	for body, want := range map[string]transport.Words{
		`{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}`: {Message: "no such model", Code: "model_not_found", JSON: true},
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                   {Message: "Overloaded", Code: "overloaded_error", JSON: true},
		`{"error":{"code":429,"message":"Resource exhausted.","status":"RESOURCE_EXHAUSTED"}}`:          {Message: "Resource exhausted.", Code: "RESOURCE_EXHAUSTED", JSON: true},
		`{"error":"model 'x' not found"}`:              {Message: "model 'x' not found", JSON: true},
		`{"object":"error","message":"no","code":404}`: {Message: "no", JSON: true},
		`{"detail":"Not Found"}`:                       {Message: `"Not Found"`, JSON: true},
		`{}`:                                           {JSON: true},
		"<!DOCTYPE html>\n<html><body>Bad Gateway</body></html>": {Message: "it answered with a web page"},
		"upstream\n\n  is hunter2 down":                          {Message: "upstream is [key] down"},
		"":                                                       {},
		`{"error":{"message":"` + strings.Repeat("é", 200) + `"}}`: {Message: strings.Repeat("é", 150) + "…", JSON: true},
	} {
		if got := transport.Said([]byte(body), "hunter2"); got != want {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

func TestAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		header []string
		want   time.Duration
	}{
		{nil, 0},
		{[]string{"Retry-After", "7"}, 7 * time.Second},
		{[]string{"Retry-After", "0.5"}, 500 * time.Millisecond},
		{[]string{"Retry-After", "-7"}, 0},
		{[]string{"Retry-After", "NaN"}, 0},
		{[]string{"Retry-After", "1e300"}, 0},
		{[]string{"Retry-After", "Fri, 02 Jan 2026 15:04:35 GMT"}, 30 * time.Second},
		{[]string{"Retry-After", "Fri, 02 Jan 2026 15:03:35 GMT"}, 0},
		{[]string{"Retry-After", "7", "Retry-After-Ms", "1500"}, 1500 * time.Millisecond},
	} {
		_, err := get(t, transport.Options{Clock: func() time.Time { return now }}, answer(429, "", test.header...))
		if e, ok := errors.AsType[*model.Error](err); !ok || e.After != test.want {
			t.Errorf("%v: %v", test.header, err)
		}
	}
}

// TestStatuses: which of them are worth another attempt.
func TestStatuses(t *testing.T) {
	for status, want := range map[int]model.Fault{
		301: model.FaultAddress, 307: model.FaultAddress, 400: model.FaultRequest, 401: model.FaultKey, 402: model.FaultQuota, 403: model.FaultKey, 404: model.FaultAddress,
		405: model.FaultAddress, 408: model.FaultServer, 409: model.FaultServer, 413: model.FaultRequest, 422: model.FaultRequest, 425: model.FaultServer, 429: model.FaultRate,
		500: model.FaultServer, 501: model.FaultAddress, 502: model.FaultServer, 503: model.FaultServer, 504: model.FaultServer, 520: model.FaultServer, 529: model.FaultServer,
	} {
		e := transport.Status(status, transport.Words{Message: "so", JSON: true})
		if e.Fault != want || e.Status != status || !strings.Contains(e.What, fmt.Sprint(status)) {
			t.Errorf("%d: %+v", status, e)
		}
	}
}

// TestUnreached: nothing of the address beyond its host is repeated.
func TestUnreached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = transport.Client(transport.Options{}).Get("http://" + l.Addr().String() + "/hunter2?q=hunter2")
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Fault != model.FaultConnection || strings.Contains(e.Error(), "hunter2") {
		t.Errorf("error %v", e)
	}
	secure := httptest.NewTLSServer(answer(200, "{}"))
	secure.Config.ErrorLog = nil
	t.Cleanup(secure.Close)
	_, err = transport.Client(transport.Options{}).Get(secure.URL)
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != model.FaultAddress || !strings.Contains(e.What, "certificate") {
		t.Errorf("error %v", err)
	}
}

// TestInside: failures inside of answers, by a status, a word or neither.
func TestInside(t *testing.T) {
	for raw, want := range map[string]model.Fault{
		`{"code":429,"message":"slow"}`: model.FaultRate, `{"code":"429","message":"slow"}`: model.FaultRate, `{"code":502}`: model.FaultServer,
		`{"code":"rate_limit_exceeded"}`: model.FaultRate, `{"type":"overloaded_error","message":"busy"}`: model.FaultServer,
		`{"code":"insufficient_quota"}`: model.FaultQuota, `{"code":"context_length_exceeded"}`: model.FaultContext, `{"code":"model_not_found"}`: model.FaultModel,
		`{"code":"bio_policy"}`: model.FaultRequest, `{"code":"invalid_api_key"}`: model.FaultKey,
		`{"code":"something_new"}`: model.FaultServer, `"text"`: model.FaultServer, `{"code":99}`: model.FaultServer, `{`: model.FaultServer,
	} {
		if e := transport.Inside([]byte(raw), ""); e.Fault != want || e.What == "" {
			t.Errorf("%s: %+v", raw, e)
		}
	}
	if e := transport.Inside([]byte(`{"message":"key hunter2"}`), "hunter2"); strings.Contains(e.What, "hunter2") {
		t.Errorf("%v", e)
	}
}

// TestFiltered: a vendor's filter is told by its own words, whatever the status.
func TestFiltered(t *testing.T) {
	o := transport.Options{Secret: "hunter2", Filtered: func(status int, body []byte) bool { return status == 403 && strings.Contains(string(body), "flagged") }}
	for body, want := range map[string]string{`{"error":{"message":"flagged hunter2"}}`: transport.Filter, `{"error":{"message":"no"}}`: ""} {
		_, err := get(t, o, answer(403, body))
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Code != want || strings.Contains(e.What, "hunter2") || want != "" && e.What != "flagged [key]" {
			t.Errorf("%s: %v", body, err)
		}
	}
}
