package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/internal/wire"
)

// TestLimits: requests and answers that are too large, servers that say nothing or say it
// for too long, and servers that are not there.
func TestLimits(t *testing.T) {
	long := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		for i := 0; i < 100 && r.Context().Err() == nil; i++ {
			if _, err := io.WriteString(w, strings.Repeat(" ", 100)); err != nil {
				return
			}
		}
	}
	hang := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
			t.Error("the server was left waiting")
		}
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": still there\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}
	for name, c := range map[string]struct {
		up     http.HandlerFunc
		o      wire.Options
		body   string
		status int // 0: the connection is closed
		kind   wire.Kind
	}{
		"a large request":            {hang, wire.Options{MaxRequest: 10}, `{"model":"a long name"}`, 413, wire.UnreadableRequest},
		"a request that is no JSON":  {hang, wire.Options{}, `{"model":`, 400, wire.UnreadableRequest},
		"a request that is a list":   {hang, wire.Options{}, `[]`, 400, wire.UnreadableRequest},
		"a large answer":             {long, wire.Options{MaxAnswer: 1000}, `{}`, 502, wire.BadAnswer},
		"a server that says nothing": {hang, wire.Options{Idle: 50 * time.Millisecond}, `{}`, 504, wire.TimedOut},
		"a stream without an end":    {drip, wire.Options{Timeout: 100 * time.Millisecond, Idle: time.Minute}, `{"stream":true}`, 0, wire.TimedOut},
		"a large stream":             {drip, wire.Options{MaxAnswer: 50}, `{"stream":true}`, 0, wire.BadAnswer},
	} {
		var l log
		o := l.options()
		o.MaxRequest, o.MaxAnswer, o.Idle, o.Timeout = c.o.MaxRequest, c.o.MaxAnswer, c.o.Idle, c.o.Timeout
		res, got, err := post(t, front(t, serve(t, c.up), o)+"/v1/responses", c.body)
		if (c.status == 0) != (err != nil) || err == nil && (res.StatusCode != c.status || !json.Valid(got)) {
			t.Errorf("%s: %v %s", name, err, got)
		}
		if d := cmp.Diff([]wire.Kind{c.kind}, l.kinds()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	var l log
	res, got, err := post(t, front(t, "http://127.0.0.1:1/v1", l.options())+"/responses", "{}")
	if err != nil || res.StatusCode != http.StatusBadGateway || !strings.Contains(string(got), "connection refused") || l.faults[0].Kind != wire.Connection {
		t.Errorf("%s, %v, %v", got, err, l.faults)
	}
}

// TestGone: a program that goes away ends its request at the server, and no goroutine
// stays behind.
func TestGone(t *testing.T) {
	var served atomic.Int64
	ended := make(chan struct{}, 1)
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": begun\n\n")
		_ = http.NewResponseController(w).Flush()
		served.Add(1)
		<-r.Context().Done()
		ended <- struct{}{}
	})
	var l log
	told := make(chan wire.Kind, 9)
	o := l.options()
	o.OnFault = func(f wire.Fault) { told <- f.Kind }
	base := front(t, up, o)
	before := runtime.NumGoroutine()
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/responses", strings.NewReader(`{"stream":true}`))
		req.Header.Set("Authorization", "Bearer "+dummyKey)
		client := &http.Transport{}
		res, err := client.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		res.Body.Close()
		<-ended
		if k := <-told; k != wire.Gone {
			t.Errorf("fault %s", k)
		}
		client.CloseIdleConnections()
	}
	for wait := 0; runtime.NumGoroutine() > before+2; wait++ { // a kept connection has two
		if wait > 100 {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestCompressed: a server that compresses although it was asked not to is understood;
// what nobody here unpacks is a fault, and not passed on.
func TestCompressed(t *testing.T) {
	s := samples()[1]
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, s.whole)
	z.Close()
	coding := "gzip"
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" && !bytes.Equal(b, zipped.Bytes()) {
			t.Error("a compressed request does not pass as it came")
		}
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(zipped.Bytes())
	})
	var l log
	base := front(t, up, l.options())
	res, got, err := post(t, base+s.path, s.body)
	if err != nil || string(got) != s.whole || res.Header.Get("Content-Encoding") != "" || len(l.turns) != 1 {
		t.Errorf("%q, %v, %v", got, err, l.faults)
	}
	if res, _, err = post(t, base+s.path, zipped.String(), "Content-Encoding", "gzip"); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a compressed request: %v, %v", err, l.faults)
	}
	coding = "br"
	if res, got, err = post(t, base+s.path, s.body); err != nil || res.StatusCode != http.StatusBadGateway || !strings.Contains(string(got), "compressed") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestNew: options that cannot work are refused, and say nothing secret.
func TestNew(t *testing.T) {
	good := wire.Options{Dummy: dummyKey, Key: realKey}
	for name, change := range map[string]func(*wire.Options){
		"no upstream":    func(o *wire.Options) { o.Upstream = nil },
		"no dummy":       func(o *wire.Options) { o.Dummy = "" },
		"keys both ways": func(o *wire.Options) { o.PassKeys = true },
		"a short key":    func(o *wire.Options) { o.Key = "hunter2" },
		"key as dummy":   func(o *wire.Options) { o.Dummy = realKey },
		"a protocol":     func(o *wire.Options) { o.Protocols = []wire.Protocol{"smtp"} },
		"an aside":       func(o *wire.Options) { o.Asides = map[wire.Auxiliary]wire.Handling{"x": wire.Forward} },
		"a query in it":  func(o *wire.Options) { o.Upstream.RawQuery = "key=hunter2" },
		"a user in it": func(o *wire.Options) {
			o.Upstream = o.Upstream.JoinPath()
			o.Upstream.User = nil
			o.Upstream.Fragment = "x"
		},
		"another scheme": func(o *wire.Options) { o.Upstream.Scheme = "ftp" },
	} {
		o := good
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/v1", nil)
		o.Upstream = req.URL
		change(&o)
		if _, err := wire.New(o); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), realKey) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
