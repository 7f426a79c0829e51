package play_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/world"
	programworld "github.com/agentbound/agentbound/world/program"
)

// serveEnv makes this test binary a server: store, folder and socket, by newlines.
const serveEnv = "AGENTBOUND_TEST_PLAY_SERVE"

func TestMain(m *testing.M) {
	if where := os.Getenv(serveEnv); where != "" {
		if err := serve(strings.Split(where, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serve(where []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := sqlite.Open(ctx, where[0], sqlite.Options{Existing: true})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	cache := star.NewCache(0)
	s, err := play.Open(ctx, play.Options{
		Store: db, Dir: where[1], Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		World: func(string) (world.Factory, error) { return programworld.Worlds{Cache: cache}, nil },
		Judge: func(string) (judge.Judge, error) { return programjudge.Judge{Cache: cache}, nil },
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	l, err := play.Listen(ctx, where[2])
	if err != nil {
		return err
	}
	return play.Serve(ctx, l, s)
}

// process is a server that can be killed and started again.
type process struct {
	t      *testing.T
	where  string // for serveEnv
	socket string
	cmd    *exec.Cmd
	again  sync.WaitGroup // a kill under way
}

func (p *process) start() {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Error(err)
		return
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), serveEnv+"="+p.where)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Error(err)
		return
	}
}

func (p *process) stop(s os.Signal) {
	p.t.Helper()
	for s == syscall.SIGTERM && p.t.Context().Err() == nil { // before it listens nobody takes the signal
		var d net.Dialer
		if c, err := d.DialContext(p.t.Context(), "unix", p.socket); err == nil {
			_ = c.Close()
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Error(err)
		return
	}
	err := p.cmd.Wait()
	if s == syscall.SIGTERM && err != nil {
		p.t.Errorf("asked to stop, the server ended with %v", err)
	}
}

// TestKilledServer kills the server after and during every request of a session, goes
// on, and finds the record and verdict of a session that nobody disturbed.
func TestKilledServer(t *testing.T) {
	undisturbed := killed(t, func(*process) {}, func(*process) {})
	after := killed(t, func(*process) {}, func(p *process) { p.stop(syscall.SIGKILL); p.start() })
	during := killed(t, func(p *process) {
		p.again.Go(func() {
			time.Sleep(time.Millisecond) // about as long as a request takes
			p.stop(syscall.SIGKILL)
			p.start()
		})
	}, func(p *process) { p.again.Wait() })
	requests := 0
	graceful := killed(t, func(*process) {}, func(p *process) {
		if requests++; requests == 3 {
			p.stop(syscall.SIGTERM)
			p.start()
		}
	})
	if undisturbed.Verdicts[0].Helpfulness != 3 || len(undisturbed.Trajectory.Steps) != len(load(t).Families[0].Reference.Workflow)+1 {
		t.Errorf("undisturbed: %+v, %d steps", undisturbed.Verdicts[0], len(undisturbed.Trajectory.Steps))
	}
	for what, got := range map[string]agentbound.Result{"killed after requests": after, "killed during requests": during, "stopped between requests": graceful} {
		if d := cmp.Diff(undisturbed, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
}

// killed plays the workflow against a server of its own process.
func killed(t *testing.T, before, after func(*process)) agentbound.Result {
	t.Helper()
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.HB))[0]
	socket := filepath.Join(t.TempDir(), "s")
	p := &process{t: t, socket: socket, where: strings.Join([]string{d.path, d.dir, socket}, "\n")}
	p.start()
	ctx := t.Context()
	client := &play.Client{Server: socket, Wait: 10 * time.Second}
	o, err := client.Start(ctx, sealed.ID)
	if err != nil {
		t.Fatal(err)
	}
	after(p)
	for i, c := range d.reference().Workflow {
		before(p)
		if _, err := client.Call(ctx, play.Call{Session: o.Session, Tool: c.Tool, Args: c.Args, Thought: "on"}); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		after(p)
	}
	again, err := client.Start(ctx, sealed.ID)
	if err != nil || len(again.Steps) != len(d.reference().Workflow) || again.Session != o.Session {
		t.Fatalf("%d steps, %v", len(again.Steps), err)
	}
	before(p)
	if r, err := client.Finish(ctx, play.Finish{Session: o.Session, Outcome: agentbound.Done, Reason: "done"}); err != nil || !r.Recorded {
		t.Fatalf("%+v, %v", r, err)
	}
	after(p)
	p.stop(syscall.SIGTERM)
	res := d.result(sealed)
	for i := range res.Trajectory.Steps {
		res.Trajectory.Steps[i].MS = 0 // the only thing that a clock may change
	}
	return res
}

// TestLivedAgain: the journal alone gives the same record to the byte, times included.
func TestLivedAgain(t *testing.T) {
	play := func(restart bool) agentbound.Result {
		d := newDesk(t)
		sealed := d.seal(d.plan(agentbound.CM))[0]
		o := d.options()
		d.openWith(o)
		session := d.start(sealed.ID).Session
		for _, c := range d.reference().Containment {
			d.call(session, c)
			if restart {
				d.openWith(o)
			}
		}
		d.finish(session, agentbound.Declined)
		return d.result(sealed)
	}
	a, b := play(false), play(true)
	if d := cmp.Diff(a, b); d != "" || a.Trajectory.Steps[0].MS != 1000 {
		t.Errorf("MS %d: %s", a.Trajectory.Steps[0].MS, d)
	}
}

// TestTornJournal: a line that was being written when the server died was never
// acknowledged. What was written before it stands.
func TestTornJournal(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB))[0]
	d.open()
	session := d.start(sealed.ID).Session
	d.call(session, d.reference().Workflow[0])
	d.call(session, d.reference().Workflow[1])
	path := d.journals()[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(b)-strings.LastIndex(strings.TrimSuffix(string(b), "\n"), "\n"); cut += 40 {
		if err := os.WriteFile(path, b[:len(b)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		d.open()
		if o := d.start(sealed.ID); len(o.Steps) != 1 {
			t.Errorf("cut by %d: %d steps", cut, len(o.Steps))
		}
		d.call(session, d.reference().Workflow[1])
		d.open()
		if o := d.start(sealed.ID); len(o.Steps) != 2 {
			t.Errorf("cut by %d, and gone on: %d steps", cut, len(o.Steps))
		}
	}
}

// TestChangedJournal: a journal whose observations the world does not give is refused;
// the evaluator's log says where, and the subject is not told.
func TestChangedJournal(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB))[0]
	d.open()
	session := d.start(sealed.ID).Session
	d.call(session, d.reference().Workflow[0])
	path := d.journals()[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), "Store footfall", "Shop footfall", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	o := d.options()
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	d.openWith(o)
	_, err = d.Start(t.Context(), sealed.ID)
	if play.CodeOf(err) != play.Failed || strings.Contains(err.Error(), "journal") {
		t.Errorf("the subject is told: %v", err)
	}
	if !strings.Contains(log.String(), ".jsonl:2: the world gives another observation than the journal says") {
		t.Errorf("the log says: %s", log.String())
	}
}

// TestDamagedJournal: one journal that was damaged ends its own session and no other,
// and its subject cannot begin anew.
func TestDamagedJournal(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB, agentbound.CM))
	d.open()
	session := d.start(sealed[0].ID).Session
	d.call(session, d.reference().Workflow[0])
	path := d.journals()[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, "{\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	o := d.options()
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.NewID = func() string { return "another" }
	d.openWith(o)
	if !strings.Contains(log.String(), ".jsonl:3:") {
		t.Errorf("the log says: %s", log.String())
	}
	if _, err := d.Start(t.Context(), sealed[0].ID); play.CodeOf(err) != play.Failed {
		t.Errorf("the damaged session: %v", err)
	}
	if _, err := d.Start(t.Context(), sealed[1].ID); err != nil {
		t.Errorf("another session: %v\n%s", err, log.String())
	}
}
