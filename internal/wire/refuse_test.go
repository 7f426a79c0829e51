package wire_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/internal/wire"
)

// TestRefused: what is not served is refused in the protocol's own form, and says what is.
func TestRefused(t *testing.T) {
	up := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	var l log
	o := l.options()
	o.Asides = map[wire.Auxiliary]wire.Handling{wire.ListModels: wire.Refuse}
	base := front(t, up+"/base", o)
	if !strings.HasSuffix(base, "/base") {
		t.Errorf("base URL %s", base)
	}
	at := strings.TrimSuffix(base, "/base")
	for _, c := range []struct {
		url, header string
		status      int
		has         string
	}{
		{base + "/v1/embeddings", "", 404, `"code":"not_found"`},
		{base + "/v1/messages/batches", "Anthropic-Version", 404, `{"error":{"message"`},
		{base + "/v1beta/models/m:embedContent", "", 404, `"status":"NOT_FOUND"`},
		{base + "/v1/models", "", 405, `"type":"invalid_request_error"`},
		{base + "/v1/../v1/responses", "", 404, ``},
		{at + "/v1/responses", "", 404, ``},
		{base + "/v1/responses/resp_1/cancel", "", 404, ``},
	} {
		res, got, err := post(t, c.url, "{}", c.header, "2023-06-01")
		if err != nil || res.StatusCode != c.status || !strings.Contains(string(got), c.has) || !json.Valid(got) || !strings.Contains(string(got), "not served") {
			t.Errorf("%s: %d %s, %v", c.url, res.StatusCode, got, err)
		}
	}
	if kinds := l.kinds(); len(kinds) != 7 || slices.ContainsFunc(kinds, func(k wire.Kind) bool { return k != wire.UnknownPath }) || l.faults[0].Path != "/base/v1/embeddings" {
		t.Errorf("%v", l.faults)
	}
}

// TestAsides: requests beside turns are forwarded, answered or refused as asked, and told.
func TestAsides(t *testing.T) {
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Key", r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "from the server: "+r.URL.RequestURI())
	})
	for _, how := range []wire.Handling{wire.Forward, wire.Answer, wire.Refuse} {
		var l log
		o := l.options()
		o.Models = []string{"m"}
		o.Asides = map[wire.Auxiliary]wire.Handling{wire.ListModels: how, wire.GetModel: how, wire.CountTokens: how, wire.Probe: how}
		base := front(t, up, o)
		for _, c := range []struct{ method, path, name, has string }{
			{"GET", "/v1/models?client_version=1", "", `"models":[]`}, {"GET", "/models", "Anthropic-Version", `"has_more":false`}, {"GET", "/v1beta/models", "", `"name":"models/m"`},
			{"GET", "/v1/models/m", "", `"id":"m"`}, {"GET", "/v1beta/models/m", "", `countTokens`}, {"HEAD", "/", "", ""},
			{"POST", "/v1/messages/count_tokens", "", `{"input_tokens":5}`}, {"POST", "/v1beta/models/m:countTokens", "", `{"totalTokens":5}`}, {"POST", "/v1/responses/input_tokens", "", `"input_tokens":5`},
		} {
			req, _ := http.NewRequestWithContext(t.Context(), c.method, base+c.path, strings.NewReader(strings.Repeat(" ", 20)))
			req.Header.Set("Authorization", "Bearer "+dummyKey)
			if c.name != "" {
				req.Header.Set(c.name, "2023-06-01")
			}
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(res.Body)
			res.Body.Close()
			want := map[wire.Handling]string{wire.Forward: "from the server: " + c.path, wire.Answer: c.has, wire.Refuse: "not served"}[how]
			if status := map[wire.Handling]int{wire.Forward: 200, wire.Answer: 200, wire.Refuse: 404}[how]; res.StatusCode != status || c.method != "HEAD" && !strings.Contains(string(got), want) || strings.Contains(res.Header.Get("X-Key"), realKey) {
				t.Errorf("%s %s %s: %d %s", how, c.method, c.path, res.StatusCode, got)
			}
		}
		// An aside is told after its answer has gone out: wait for the last one.
		n := map[wire.Handling]int{wire.Forward: 9, wire.Answer: 9}[how]
		asides := l.waitAsides(t, n)
		if n > 0 && (asides[0].Kind != wire.ListModels || asides[0].Status != 200 || asides[0].Handling != how) {
			t.Errorf("%s: %+v", how, asides)
		}
	}
}
