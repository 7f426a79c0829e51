package compat_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/modeltest"
)

func hello() model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}
}

// connect gives a model behind a fresh peer.
func connect(t *testing.T, o modeltest.Options) model.Model {
	t.Helper()
	return open(t, "test-model@"+modeltest.Serve(t, o).URL, compat.Options{Key: o.Key})
}

func open(t *testing.T, spec string, o compat.Options) *compat.Model {
	t.Helper()
	if o.Retry.Sleep == nil {
		o.Retry = modeltest.Retry()
	}
	m, err := compat.New(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestContract(t *testing.T) { modeltest.Run(t, connect) }

func TestParse(t *testing.T) {
	for spec, want := range map[string][2]string{
		"compat:qwen@http://127.0.0.1:8000/v1":        {"qwen", "http://127.0.0.1:8000/v1"},
		"qwen@http://127.0.0.1:8000/v1/":              {"qwen", "http://127.0.0.1:8000/v1"},
		"compat:Qwen/Qwen3.8-27B@https://llm.example": {"Qwen/Qwen3.8-27B", "https://llm.example"},
		"compat:team@org:m@https://llm.example/a/b":   {"team@org:m", "https://llm.example/a/b"},
	} {
		if name, base, err := compat.Parse(spec); err != nil || name != want[0] || base != want[1] {
			t.Errorf("%s: %q at %q, %v", spec, name, base, err)
		}
	}
	for _, spec := range []string{
		"", "compat:", "compat:m", "compat:@http://h/v1", "compat:m@llm.example", "compat:m@http://", "compat:m@http://[::1/v1",
		"compat:m@https://user:hunter2@llm.example/v1", "compat:m@https://llm.example/v1?key=hunter2", "compat:m@https://llm.example/v1#hunter2",
	} {
		_, _, err := compat.Parse(spec)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", spec, err)
		}
	}
}

func TestRefHoldsNoKey(t *testing.T) {
	got := open(t, "compat:m@https://llm.example/v1/", compat.Options{Key: "hunter2"}).Ref()
	want := model.Ref{Name: "compat:m@https://llm.example/v1", Settings: map[string]string{"model": "m", "base_url": "https://llm.example/v1", "adapter": "compat/1"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestOneMessageEach: what is set up wrongly is said in one line, with what to do.
func TestOneMessageEach(t *testing.T) {
	peer := modeltest.Serve(t, modeltest.Options{Key: "right", Play: modeltest.Script(modeltest.Says("well"))})
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	root := strings.TrimSuffix(peer.URL, "/v1")
	tools := modeltest.Serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Status(400, "", `"auto" tool choice requires --enable-auto-tool-choice`))})
	for name, test := range map[string]struct {
		spec, key, want string
		fault           model.Fault
	}{
		"a wrong key":         {"test-model@" + peer.URL, "wrong-hunter2", "the server does not accept the key (status 401); check the key in COMPAT_API_KEY", model.FaultKey},
		"no key":              {"test-model@" + peer.URL, "", "the server wants a key (status 401); set COMPAT_API_KEY", model.FaultKey},
		"an unknown model":    {"other@" + peer.URL, "right", "the server does not serve this model (status 404): The model other does not exist or you do not have access to it.; check the name \"other\" against " + peer.URL + "/models", model.FaultModel},
		"a wrong base URL":    {"test-model@" + root, "right", "this server has no /chat/completions (status 404): 404 page not found; check the base URL: most end in /v1", model.FaultAddress},
		"nobody there":        {"test-model@" + down.URL, "right", strings.TrimPrefix(down.URL, "http://") + ": connection refused (3 attempts); is the server running?", model.FaultConnection},
		"https to plain http": {"test-model@" + strings.Replace(peer.URL, "http:", "https:", 1), "right", "the server does not speak https; write http:// in the base URL", model.FaultAddress},
		"no tool calling":     {"test-model@" + tools.URL, "", "start the server with tool calling, or use the form react, which needs none", model.FaultRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, test.spec, compat.Options{Key: test.key}).Chat(t.Context(), hello())
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Fault != test.fault || !strings.HasPrefix(err.Error(), "compat:"+test.spec+": ") || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got  %v\nwant …%s", err, test.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
		})
	}
}

// TestTheKeyStaysAtHome: it goes to the base URL and along no redirect; the keys of
// other vendors go nowhere; what a server repeats of it is cut out.
func TestTheKeyStaysAtHome(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "another-vendors")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Other: another-vendors")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	var elsewhere int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	t.Cleanup(other.Close)
	var headers http.Header
	for name, test := range map[string]struct {
		key   string
		fault modeltest.Fault
	}{
		"a redirect": {"hunter2", modeltest.Redirect(other.URL)},
		"an echo":    {"hunter2", modeltest.Status(400, "", "key hunter2 may not do this")},
		"no key":     {"", modeltest.Status(400, "", "no")},
	} {
		t.Run(name, func(t *testing.T) {
			peer := modeltest.Serve(t, modeltest.Options{Misbehave: modeltest.Always(func(w http.ResponseWriter, r *http.Request) {
				headers = r.Header.Clone()
				test.fault(w, r)
			})})
			_, err := open(t, "m@"+peer.URL, compat.Options{Key: test.key}).Chat(t.Context(), hello())
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v", err)
			}
			want := ""
			if test.key != "" {
				want = "Bearer " + test.key
			}
			if got := headers.Get("Authorization"); got != want {
				t.Errorf("authorization %q", got)
			}
			for k, v := range headers {
				if strings.Contains(strings.Join(v, " "), "another-vendors") {
					t.Errorf("header %s: %s", k, v)
				}
			}
		})
	}
	if elsewhere > 0 {
		t.Errorf("%d requests went elsewhere", elsewhere)
	}
}

// TestPauses: doubled each time, half of it by chance, at least what the server asks
// for; what it asks for beyond the longest pause is not waited for.
func TestPauses(t *testing.T) {
	for name, test := range map[string]struct {
		header []string
		want   []time.Duration
		err    string
	}{
		"of our own":       {nil, []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 3750 * time.Millisecond}, "too many requests (status 429): slow down (5 attempts)"},
		"Retry-After":      {[]string{"Retry-After", "2"}, []time.Duration{2 * time.Second, 2 * time.Second, 3 * time.Second, 3750 * time.Millisecond}, "(5 attempts)"},
		"in milliseconds":  {[]string{"Retry-After-Ms", "800", "Retry-After", "1"}, []time.Duration{800 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 3750 * time.Millisecond}, "(5 attempts)"},
		"a date gone by":   {[]string{"Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"}, []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 3750 * time.Millisecond}, "(5 attempts)"},
		"nonsense":         {[]string{"Retry-After", "soon"}, []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 3750 * time.Millisecond}, "(5 attempts)"},
		"longer than ours": {[]string{"Retry-After", "3600"}, nil, "(it asks to wait 1h0m0s)"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []time.Duration
			retry := model.Retry{Attempts: 5, Base: time.Second, Longest: 5 * time.Second, Jitter: func() float64 { return 0.5 },
				Sleep: func(_ context.Context, d time.Duration) error { got = append(got, d); return nil }}
			peer := modeltest.Serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Status(429, "", "slow down", test.header...))})
			_, err := open(t, "m@"+peer.URL, compat.Options{Retry: retry}).Chat(t.Context(), hello())
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v", err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAnswersHaveALimit(t *testing.T) {
	peer := modeltest.Serve(t, modeltest.Options{Play: modeltest.Script(modeltest.Says(strings.Repeat("long ", 1000)))})
	_, err := open(t, "test-model@"+peer.URL, compat.Options{Limit: 2000}).Chat(t.Context(), hello())
	if err == nil || !strings.Contains(err.Error(), "the answer has more than 2000 bytes (3 attempts)") {
		t.Errorf("error %v", err)
	}
}
