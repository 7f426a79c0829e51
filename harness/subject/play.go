package subject

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/harness"
)

// Play implements agent.Agent: it serves the task, runs the program and leaves nothing
// of it behind.
func (a *Agent) Play(ctx context.Context, e *episode.Episode) error {
	t := &trial{agent: a, ledger: newLedger(a.program, e), key: "key-" + rand.Text()}
	exit, err := t.run(ctx, e.Brief(), e.StepsLeft())
	return t.ledger.close(ctx, exit, err)
}

// trial is a program at one trial.
type trial struct {
	agent  *Agent
	ledger *ledger
	key    string // the dummy that the program is given
}

// run runs the program to its end, or to that of the trial.
func (t *trial) run(ctx context.Context, b episode.Brief, steps int) (exit harness.Exit, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cell, err := t.agent.parts.Runner.Cell(ctx, Needs{Listeners: 2, ReadOnly: t.agent.opts.ReadOnly, Memory: t.agent.program.Memory})
	if err != nil {
		return exit, fmt.Errorf("no place to run the program: %w", err)
	}
	defer func() { err = errors.Join(err, cell.Close()) }()
	model, tools := cell.Listeners()[0], cell.Listeners()[1]
	command, err := t.command(b, steps, cell.Home(), model.Addr().String(), tools.Addr().String())
	if err != nil {
		return exit, err
	}
	proxy, err := t.agent.parts.Proxy(ctx, ProxyOptions{
		Protocol: t.agent.program.Protocol, Upstream: t.agent.opts.Base, Key: t.agent.opts.Key, Dummy: t.key,
		OnTurn: func(turn Turn) Ruling { return t.ledger.turn(ctx, turn) }, OnRequest: t.ledger.request,
	})
	if err != nil {
		return exit, err
	}
	var serving sync.WaitGroup
	server := &http.Server{Handler: t.counted(proxy), ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	serving.Go(func() { _ = server.Serve(model) }) // ends with Close
	serving.Go(func() {
		if err := t.agent.parts.Tools(ctx, tools, b.Tools, t.ledger.call); err != nil {
			t.ledger.fail(fmt.Errorf("the server of tools: %w", err))
		}
	})
	serving.Go(func() {
		select {
		case <-t.ledger.over: // the program is not needed any more
			stop()
		case <-ctx.Done():
		}
	})
	exit, err = cell.Run(command)
	if t.ledger.cutShort() {
		err = nil // we ended it
	}
	t.ledger.held = cell.Held()
	stop()
	_ = server.Close()
	serving.Wait()
	return exit, err
}

// counted lets the ledger know of requests that are under way.
func (t *trial) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.ledger.begun()
		defer t.ledger.ended()
		h.ServeHTTP(w, r)
	})
}

// command writes the program's configuration and gives its command line.
func (t *trial) command(b episode.Brief, steps int, home, model, tools string) (Command, error) {
	base, err := url.Parse(t.agent.opts.Base)
	if err != nil {
		return Command{}, errors.New("the base URL of the model cannot be read")
	}
	work := filepath.Join(home, "work")
	for _, dir := range []string{work, temporary(home)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return Command{}, err
		}
	}
	given := harness.Trial{
		Start: t.agent.opts.Start, Home: home, Work: work, Model: t.agent.opts.Model, Effort: t.agent.opts.Effort,
		URL: "http://" + model + base.EscapedPath(), Key: t.key, MCP: "http://" + tools + "/", Steps: steps,
		System: system(b), Instruction: b.Instruction,
	}
	for _, tool := range b.Tools {
		given.Tools = append(given.Tools, tool.Name)
	}
	l, err := t.agent.program.Launch(given)
	if err != nil {
		return Command{}, err
	}
	for name, content := range l.Files {
		if err := write(home, name, content); err != nil {
			return Command{}, err
		}
	}
	return Command{Argv: l.Argv, Env: append(Environment(home, t.agent.opts.Start), l.Env...), Dir: work}, nil
}

func write(home, name string, content []byte) error {
	if err := harness.Within(name); err != nil {
		return err
	}
	file := filepath.Join(home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

// Environment is what every program gets: nothing of the user's. PATH has the folder of
// what starts it, so that one run by Node finds that Node.
func Environment(home string, start []string) []string {
	path := []string{filepath.Dir(start[0]), "/usr/local/bin", "/usr/bin", "/bin"}
	tmp := temporary(home)
	return []string{
		"HOME=" + home, "PATH=" + joined(slices.Compact(path)), "TMPDIR=" + tmp, "TMP=" + tmp, "TEMP=" + tmp,
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "TERM=dumb", "NO_COLOR=1", "USER=user", "LOGNAME=user", "SHELL=/bin/sh",
	}
}

func temporary(home string) string { return filepath.Join(home, "tmp") }

func joined(path []string) (all string) {
	for i, p := range path {
		if i > 0 {
			all += string(os.PathListSeparator)
		}
		all += p
	}
	return all
}
