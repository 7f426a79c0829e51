package wire_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/internal/wire"
)

// BenchmarkProxy passes the same turns through the proxy, which decodes them, through one
// with an editor that keeps them, and through the standard library's bare reverse proxy:
// a request of 40 KB with 50 tools, answered by a text of 400 events and a call.
func BenchmarkProxy(b *testing.B) {
	var tools, events []string
	for i := range 50 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","description":%q,"parameters":{"type":"object","properties":{"id":{"type":"string"}}}}}`, i, strings.Repeat("What it does. ", 45)))
	}
	body := `{"model":"m","stream":%v,"messages":[{"role":"user","content":"hi"}],"tools":[` + strings.Join(tools, ",") + `]}`
	for i := range 400 {
		events = append(events, fmt.Sprintf("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d \"},\"finish_reason\":null}]}\n\n", i))
	}
	events = append(events, samples()[1].events...)
	stream := strings.Join(events, "")
	whole := strings.Replace(samples()[1].whole, "A look", strings.Repeat("word 100 ", 400), 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(got[:40]), `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; i < len(events); i += 20 { // as a busy server's come: some at a time
			_, _ = io.WriteString(w, strings.Join(events[i:min(i+20, len(events))], ""))
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer up.Close()
	target, _ := url.Parse(up.URL)
	bare := httptest.NewServer(&httputil.ReverseProxy{Transport: http.DefaultTransport.(*http.Transport).Clone(), FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		// A server that answers before the standard library has seen the body's end makes
		// it close the connection: the body is read first, as the proxy does.
		sent, _ := io.ReadAll(r.In.Body)
		r.Out.Body = io.NopCloser(strings.NewReader(string(sent)))
		r.SetURL(target)
	}})
	defer bare.Close()
	keeps := func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{}, nil }
	turns := func(wire.Turn) {}
	for _, mode := range []bool{false, true} {
		for _, c := range []struct{ name, base string }{
			{"none", up.URL}, {"bare", bare.URL}, {"listens", front(b, up.URL, wire.Options{OnTurn: turns})}, {"edits", front(b, up.URL, wire.Options{OnTurn: turns, Edit: keeps})},
			{"flows", front(b, up.URL, wire.Options{OnTurn: turns, Edit: keeps, Flow: true})},
		} {
			b.Run(fmt.Sprintf("streamed=%v/%s", mode, c.name), func(b *testing.B) {
				sent := fmt.Sprintf(body, mode)
				b.ReportAllocs()
				for b.Loop() {
					_, got, err := post(b, c.base+"/v1/chat/completions", sent)
					if want := map[bool]int{true: len(stream), false: len(whole)}[mode]; err != nil || len(got) != want {
						b.Fatalf("%d bytes, %v; want %d", len(got), err, want)
					}
				}
			})
		}
	}
}
