package transport_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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
		`{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`: {
			Message: "API key not valid.", Code: "INVALID_ARGUMENT", JSON: true, Details: transport.Details{Reason: "API_KEY_INVALID"}},
		`{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"RequestsPerMinute"},{"quotaId":"RequestsPerDay"}]},{"retryDelay":"13.5s"},{"retryDelay":"soon"}]}}`: {
			Message: "quota", Code: "RESOURCE_EXHAUSTED", JSON: true, Details: transport.Details{After: 13500 * time.Millisecond, Quota: "RequestsPerDay"}},
		`{"error":{"message":"no","code":"x","details":"none"}}`:  {Message: "no", Code: "x", JSON: true},
		`{"error":"model 'x' not found"}`:                         {Message: "model 'x' not found", JSON: true},
		`{"object":"error","message":"no","code":404}`:            {Message: "no", JSON: true},
		`{"detail":"Not Found"}`:                                  {Message: `"Not Found"`, JSON: true},
		`{}`:                                                      {JSON: true},
		"<!DOCTYPE html>\n<html><body>Bad Gateway</body></html>":  {Message: "it answered with a web page"},
		"upstream\n\n  is hunter2 down":                           {Message: "upstream is [key] down"},
		"upstream hun\xffter2 \x1b[2Jis\u200b h\u200bunter2 down": {Message: "upstream [key] [2Jis [key] down"},
		"\uFEFF<!doctype html>":                                   {Message: "it answered with a web page"},
		`{"detail":"key h\u0075nter2"}`:                           {Message: `"key [key]"`, JSON: true},
		`{"detail":[{"msg":"key h\u0075nter2"}]}`:                 {Message: `[{"msg":"key [key]"}]`, JSON: true},
		"": {},
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
		405: model.FaultAddress, 407: model.FaultAddress, 408: model.FaultServer, 409: model.FaultServer, 413: model.FaultRequest, 422: model.FaultRequest, 425: model.FaultServer, 429: model.FaultRate,
		500: model.FaultServer, 501: model.FaultAddress, 502: model.FaultServer, 503: model.FaultServer, 504: model.FaultServer, 520: model.FaultServer, 529: model.FaultServer,
	} {
		e := transport.Status(status, transport.Words{Message: "so", JSON: true})
		if waited := status == 408 || status == 504; e.Begun != waited {
			t.Errorf("%d: begun %v", status, e.Begun)
		}
		if e.Fault != want || e.Status != status || !strings.Contains(e.What, fmt.Sprint(status)) {
			t.Errorf("%d: %+v", status, e)
		}
	}
}

// TestUnserved: what a server has not is named by the protocol's own path, without what may
// stand before it; /v1 is advised where it is missing, and not where it was asked for.
func TestUnserved(t *testing.T) {
	const advice = "check the base URL: most end in /v1"
	for path, want := range map[string]string{
		"/v1/responses":                          "this server has no /v1/responses (status 404): no such path; check the base URL: does the server there speak responses?",
		"/hunter2/v1/messages":                   "this server has no /v1/messages (status 404): no such path; check the base URL: does the server there speak Messages?",
		"/v1beta/models/m:generateContent":       "this server has no /v1beta/models/m:generateContent (status 404): no such path; check the base URL: does the server there speak generateContent?",
		"/x/api/v4/chat/completions":             "this server has no /v4/chat/completions (status 404): no such path; check the base URL: does the server there speak chat completions?",
		"/v1/completions":                        "this server has no /v1/completions (status 404): no such path; check the base URL: does the server there speak plain completions?",
		"/chat/completions":                      "this server has no /chat/completions (status 404): no such path; " + advice,
		"/hunter2/responses":                     "this server has no /responses (status 404): no such path; " + advice,
		"/something/else":                        "nothing here speaks the protocol (status 404): no such path; " + advice,
		"/v1beta/models/m:streamGenerateContent": "this server has no /v1beta/models/m:streamGenerateContent (status 404): no such path; check the base URL: does the server there speak generateContent?",
	} {
		e := transport.Status(http.StatusNotFound, transport.Words{Message: "no such path", JSON: true})
		if got := transport.Unserved(e, path); got.Error() != want || got.Fault != model.FaultAddress {
			t.Errorf("%s: %s\nwant %s", path, got, want)
		}
	}
	if e := transport.Status(http.StatusInternalServerError, transport.Words{Message: "oops"}); transport.Unserved(e, "/v1/responses") != e {
		t.Error("a failure of another kind was changed")
	}
}

// TestFaultsByWords: where the status alone does not tell what went wrong.
func TestFaultsByWords(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   model.Fault
		after  time.Duration
	}{
		"an unknown model, as Anthropic says": {404, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`, model.FaultModel, 0},
		"an unknown model, as Google says":    {404, `{"error":{"code":404,"message":"models/x is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}`, model.FaultModel, 0},
		"an unknown path":                     {404, `{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}`, model.FaultAddress, 0},
		"a wrong key, as Google says":         {400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, model.FaultKey, 0},
		"a limit per minute":                  {429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"RequestsPerMinute"}]},{"retryDelay":"31s"}]}}`, model.FaultRate, 31 * time.Second},
		"a limit per day":                     {429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"RequestsPerDay"}]},{"retryDelay":"31s"}]}}`, model.FaultQuota, 31 * time.Second},
		"no credit, as Anthropic says":        {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, model.FaultQuota, 0},
		"a spend limit":                       {429, `{"type":"error","error":{"type":"rate_limit_error","message":"You have reached your spend limit."}}`, model.FaultQuota, 0},
		"a window too small":                  {400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 198000 + 16384 > 200000"}}`, model.FaultContext, 0},
	} {
		e := transport.Status(test.status, transport.Said([]byte(test.body), ""))
		if e.Fault != test.want || e.After != test.after {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestEndpoints: what a specification names, and that an error repeats no secret of it.
func TestEndpoints(t *testing.T) {
	v := transport.Vendor{Scheme: "vendor", Home: "https://api.vendor.example", KeyEnv: "VENDOR_API_KEY"}
	for spec, want := range map[string][3]string{
		"vendor:m":                              {"m", "https://api.vendor.example", "vendor:m"},
		"m":                                     {"m", "https://api.vendor.example", "vendor:m"},
		"vendor:m@https://api.vendor.example/":  {"m", "https://api.vendor.example", "vendor:m"},
		"vendor:a/m:1@http://127.0.0.1:8000/x/": {"a/m:1", "http://127.0.0.1:8000/x", "vendor:a/m:1@http://127.0.0.1:8000/x"},
	} {
		if e, err := v.Endpoint(spec); err != nil || e.Model != want[0] || e.Base != want[1] || e.Name() != want[2] {
			t.Errorf("%s: %+v, %v", spec, e, err)
		}
	}
	for _, spec := range []string{
		"", "vendor:", "vendor:m@", "vendor:m@llm.example", "vendor:m@http://", "vendor:m@http://[::1", "vendor:m@ftp://hunter2",
		"vendor:m@https://user:hunter2@llm.example", "vendor:m@https://llm.example?key=hunter2", "vendor:m@https://llm.example#hunter2", "vendor:@http://llm.example",
	} {
		if e, err := v.Endpoint(spec); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %+v, error %v", spec, e, err)
		}
	}
}

// TestExplain: the remedy names the variable that holds the key.
func TestExplain(t *testing.T) {
	v := transport.Vendor{Scheme: "vendor", Home: "https://api.vendor.example", KeyEnv: "VENDOR_API_KEY"}
	e, err := v.Endpoint("vendor:m")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		status int
		keyed  bool
		want   string
	}{
		{401, true, "vendor:m: the server does not accept the key (status 401); check the key in VENDOR_API_KEY"},
		{403, false, "vendor:m: the server wants a key (status 403); set VENDOR_API_KEY"},
		{402, true, "vendor:m: the account has no credit left (status 402); add credit to the account of VENDOR_API_KEY, or use another key"},
		{404, true, "vendor:m: nothing here speaks the protocol (status 404); check the base URL https://api.vendor.example"},
	} {
		if got := e.Explain(transport.Status(test.status, transport.Words{JSON: true}), test.keyed).Error(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
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
		if e := transport.Inside([]byte(raw), ""); e.Fault != want || e.What == "" || e.Begun != (want == model.FaultServer || want == model.FaultRequest) {
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

// TestProxies: what fails on the way to a server is not said of the server, and a proxy's
// password is in no error.
func TestProxies(t *testing.T) {
	down, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down.Close()
	for name, test := range map[string]struct {
		status int // of the proxy; 0: nobody listens
		want   model.Fault
		says   string
	}{
		"down":                   {0, model.FaultConnection, "llm.example: the proxy on the way there was not reached; check HTTP_PROXY"},
		"wants credentials":      {407, model.FaultAddress, "llm.example: the proxy gives no way there (status 407); check HTTP_PROXY"},
		"does not let it":        {403, model.FaultAddress, "llm.example: the proxy gives no way there (status 403); check HTTP_PROXY"},
		"does not get there now": {503, model.FaultConnection, "llm.example: the proxy gives no way there (status 503); check HTTP_PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			host := down.Addr().String()
			if test.status != 0 {
				s := httptest.NewServer(answer(test.status, "no"))
				defer s.Close()
				host = s.Listener.Addr().String()
			}
			client := transport.Client(transport.Options{Proxy: http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("me", "hunter2"), Host: host})})
			_, err := client.Get("https://llm.example/")
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Fault != test.want || !strings.HasPrefix(e.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		})
	}
}
