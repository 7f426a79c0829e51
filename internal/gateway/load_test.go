package gateway_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/intervene"
)

// The load tests are no part of make test: scripts/gateway-bench.sh runs them (make
// gateway-bench, make gateway-soak). The upstream, the bare proxy and the gateway are
// processes of their own, which are this test's program again.
const (
	loadEnv = "AGENTBOUND_GATEWAY_LOAD" // how long each run takes, or the soak
	roleEnv = "AGENTBOUND_GATEWAY_ROLE"
	upEnv   = "AGENTBOUND_GATEWAY_UPSTREAM"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play is one of the processes: it prints its address, and ends with its standard input.
func play(role string) error {
	debug.SetGCPercent(400) // as the command does
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	ctx, stop := context.WithCancel(context.Background())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); stop() }()
	up, err := url.Parse(os.Getenv(upEnv))
	if err != nil {
		return err
	}
	var h http.Handler
	switch role {
	case "upstream":
		h = http.HandlerFunc(loadUpstream)
	case "bare":
		h = bareProxy(up)
	default:
		return playGateway(ctx, l, up, role)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { <-ctx.Done(); s.Close() }()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func playGateway(ctx context.Context, l net.Listener, up *url.URL, role string) error {
	o := gateway.Options{Upstream: up, InFlight: 4096}
	if role == "soak" { // one in ten is changed, and entered
		dir, err := os.MkdirTemp("", "soak")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if o.Audit, err = gateway.OpenAudit(filepath.Join(dir, "audit.jsonl"), 1<<20); err != nil {
			return err
		}
		o.Intervention.Corrector = waits{}
	}
	g, err := gateway.New(o)
	if err != nil {
		return err
	}
	return g.Serve(ctx, l, nil)
}

// waits is a corrector that remembers nothing.
type waits struct{}

func (waits) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	if strings.HasSuffix(c.Thought, "change") {
		return intervene.Correction{Thought: "I wait."}, nil
	}
	return intervene.Correction{Thought: c.Thought}, nil
}

// bareProxy is the standard library's, as it comes, but for a pool that keeps connections.
func bareProxy(up *url.URL) http.Handler {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return &httputil.ReverseProxy{Transport: t, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		// A server that answers before the standard library has seen the body's end makes
		// it close the connection: the body is read first, as the gateway does.
		sent, _ := io.ReadAll(r.In.Body)
		r.Out.Body = io.NopCloser(bytes.NewReader(sent))
		r.SetURL(up)
	}}
}

// The turn of the load: a request of 14 KB with 20 tools and a history, an answer of 200
// events that come ten at a time, of which the last are a call.
var loadRequest, loadStream, loadWhole = func() (string, []string, string) {
	var tools, messages []string
	for i := range 20 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","description":%q,"parameters":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}}`, i, strings.Repeat("What it does. ", 20)))
	}
	for i := range 8 {
		messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"I look at %d.","tool_calls":[{"id":"c%d","type":"function","function":{"name":"tool_1","arguments":"{\"id\":\"%d\"}"}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`, i, i, i, i, strings.Repeat("a record ", 60)))
	}
	body := `{"model":"m","stream":%v,"messages":[{"role":"user","content":"%s"},` + strings.Join(messages, ",") + `],"tools":[` + strings.Join(tools, ",") + `]}`
	stream := said(true, strings.Repeat("word ", 199)+"%s", callOf("a", `{"id":"A"}`))
	return body, strings.SplitAfter(stream, "\n\n"), said(false, strings.Repeat("word ", 199)+"%s", callOf("a", `{"id":"A"}`))
}()

func loadUpstream(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	head := string(b[:min(len(b), 120)])
	last := "kept"
	if strings.Contains(head, `"content":"change"`) && !strings.Contains(string(b), intervene.GoOn) {
		last = "change"
	}
	if !strings.Contains(head, `"stream":true`) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Replace(loadWhole, "%s", last, 1))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for batch := range slices.Chunk(loadStream, 10) {
		_, _ = io.WriteString(w, strings.Replace(strings.Join(batch, ""), "%s", last, 1))
		_ = http.NewResponseController(w).Flush()
	}
}

// process starts one of the processes, and gives its address.
func process(t *testing.T, role, upstream string) (base string, pid int) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, upEnv+"="+upstream)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + strings.TrimSpace(line), cmd.Process.Pid
}

// load asks at a constant rate, whatever comes back, and gives how long each request took
// from the moment that it was due: one that waits for others counts its waiting.
func load(t *testing.T, base string, rate int, length time.Duration, body func(n int) string) (took []time.Duration, failed int) {
	t.Helper()
	client := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	defer client.CloseIdleConnections()
	n := int(length.Seconds() * float64(rate))
	took = make([]time.Duration, n)
	var mu sync.Mutex
	var group sync.WaitGroup
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		group.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body(i)))
			if err == nil {
				req.Header.Set("Authorization", "Bearer x")
				var res *http.Response
				if res, err = client.RoundTrip(req); err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					res.Body.Close()
					if res.StatusCode != http.StatusOK {
						err = fmt.Errorf("status %d", res.StatusCode)
					}
				}
			}
			took[i] = time.Since(due)
			if err != nil {
				mu.Lock()
				failed++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return took, failed
}

func quantile(took []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(took))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// TestLoad measures what the gateway adds with a corrector that keeps everything, beside
// the standard library's bare reverse proxy and no proxy at all, by turns in one run.
func TestLoad(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(loadEnv))
	if err != nil {
		t.Skipf("%s is no time: see make gateway-bench", loadEnv)
	}
	const rate, rounds = 200, 6
	up, _ := process(t, "upstream", "")
	bare, _ := process(t, "bare", up)
	gate, pid := process(t, "noop", up)
	t.Logf("%d requests/s, %d rounds of %v by turns; %d cores; load average before: %s", rate, rounds, length, runtime.NumCPU(), loadAverage())
	for _, stream := range []bool{false, true} {
		body := func(int) string { return fmt.Sprintf(loadRequest, stream, "keep") }
		all := map[string][]time.Duration{}
		sides := []struct{ name, base string }{{"direct", up}, {"bare", bare}, {"gateway", gate}}
		for _, s := range sides {
			load(t, s.base, rate, time.Second, body) // connections, and what is compiled late
		}
		type round struct{ p50, p99 time.Duration }
		var over []round
		cpu, turns := cpuTime(t, pid), 0
		for range rounds {
			var last, before []time.Duration
			for _, s := range sides {
				took, failed := load(t, s.base, rate, length, body)
				if failed > 0 {
					t.Errorf("%s: %d requests failed", s.name, failed)
				}
				all[s.name] = append(all[s.name], took...)
				before, last = last, took
			}
			turns += len(last)
			over = append(over, round{quantile(last, .5) - quantile(before, .5), quantile(last, .99) - quantile(before, .99)})
		}
		t.Logf("streamed %v (a request of %d bytes, an answer of %d)", stream, len(body(0)), map[bool]int{true: len(strings.Join(loadStream, "")), false: len(loadWhole)}[stream])
		for _, s := range sides {
			took := all[s.name]
			t.Logf("  %-8s p50 %8.3f ms   p90 %8.3f ms   p99 %8.3f ms", s.name, ms(quantile(took, .5)), ms(quantile(took, .9)), ms(quantile(took, .99)))
		}
		for _, q := range []float64{.5, .99} {
			g, b, d := quantile(all["gateway"], q), quantile(all["bare"], q), quantile(all["direct"], q)
			t.Logf("  p%.0f: the gateway adds %.3f ms to no proxy, the bare proxy %.3f ms: %.3f ms more, ratio of all %.2f", q*100, ms(g-d), ms(b-d), ms(g-b), float64(g)/float64(b))
		}
		p50s, p99s := []time.Duration{}, []time.Duration{}
		for _, r := range over {
			p50s, p99s = append(p50s, r.p50), append(p99s, r.p99)
		}
		t.Logf("  over the bare proxy, round by round: p50 %s ms, p99 %s ms", list(p50s), list(p99s))
		t.Logf("  the gateway's processor time: %.3f ms a request", ms(cpuTime(t, pid)-cpu)/float64(turns))
	}
	t.Logf("load average after: %s", loadAverage())
}

func list(all []time.Duration) string {
	var words []string
	for _, d := range all {
		words = append(words, fmt.Sprintf("%.2f", ms(d)))
	}
	return strings.Join(words, " ")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cpuTime is what a process has used, in Linux's clock ticks of 10 ms.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skip("there is no /proc here")
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// held is what a process holds.
type held struct{ rss, files, threads int }

func holds(t *testing.T, pid int) (h held) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
		switch name {
		case "VmRSS":
			h.rss = n
		case "Threads":
			h.threads = n
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	h.files = len(files)
	return h
}

// TestSoak keeps a gateway under load and watches what it holds: turns streamed and not,
// one in ten of which is changed and entered into an audit log that is put aside now and
// then; and clients that come and go.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(loadEnv))
	if err != nil {
		t.Skipf("%s is no time: see make gateway-soak", loadEnv)
	}
	up, _ := process(t, "upstream", "")
	gate, pid := process(t, "soak", up)
	const rate = 60
	parts := 20
	var seen []held
	failed, n := 0, 0
	t.Logf("%d requests/s for %v, one in ten changed; load average before: %s", rate, length, loadAverage())
	for i := range parts {
		took, bad := load(t, gate, rate, length/time.Duration(parts), func(n int) string {
			return fmt.Sprintf(loadRequest, n%2 == 0, map[bool]string{true: "change", false: "keep"}[n%10 == 0])
		})
		failed, n = failed+bad, n+len(took)
		time.Sleep(200 * time.Millisecond) // connections of those who left
		h := holds(t, pid)
		seen = append(seen, h)
		if i%2 == 1 {
			t.Logf("  after %6v: %6d requests, resident %6d KiB, %3d files, %2d threads, p50 %.2f ms, p99 %.2f ms", length*time.Duration(i+1)/time.Duration(parts), n, h.rss, h.files, h.threads, ms(quantile(took, .5)), ms(quantile(took, .99)))
		}
	}
	middle := func(of []held, f func(held) int) int {
		all := make([]int, len(of))
		for i, h := range of {
			all[i] = f(h)
		}
		slices.SortFunc(all, cmp.Compare[int])
		return all[len(all)/2]
	}
	// The first fifth is warming up.
	early, late := seen[parts/5:parts/2], seen[parts*7/10:]
	rss := func(h held) int { return h.rss }
	files := func(h held) int { return h.files }
	t.Logf("resident: median %d KiB early, %d late; files: %d early, %d late; %d of %d requests failed; load average after: %s",
		middle(early, rss), middle(late, rss), middle(early, files), middle(late, files), failed, n, loadAverage())
	if float64(middle(late, rss)) > 1.15*float64(middle(early, rss)) || middle(late, files) > middle(early, files)+4 || failed > 0 {
		t.Error("it grows, or requests fail")
	}
}
