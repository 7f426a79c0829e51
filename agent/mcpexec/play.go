package mcpexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/mcpserve"
	"github.com/agentbound/agentbound/internal/process"
)

// Play implements agent.Agent: it serves the tools, starts the program, waits for it to
// end, and leaves nothing of either behind. A program that ends with another status than
// 0, or neither calls nor says a thing, is a fault and leaves the trial unscored.
func (a *Agent) Play(ctx context.Context, e *episode.Episode) error {
	s := &session{Agent: a, episode: e, over: make(chan struct{})}
	err := s.play(ctx)
	if err == nil || e.Ended() { // the episode knows by itself that its world or corrector has failed
		return err
	}
	err = s.fault(ctx, err)
	e.Fault(err)
	return err
}

// answerSize is how much of the end of a program's output is kept.
const answerSize = 64 << 10

// session is a program at one trial. The episode is touched by one goroutine at a time:
// by the server's while it serves, and then by Play's.
type session struct {
	*Agent
	episode *episode.Episode
	process *process.Process
	draft   *episode.Decision // that a corrector has changed, until the program decides again
	thought string            // as it was changed
	over    chan struct{}     // closed when the steps are used up
}

func (s *session) play(ctx context.Context) error {
	where := path()
	server, err := mcpserve.New(s.episode.Brief().Tools, s.call(ctx), mcpserve.Options{Name: serverName, Version: Version, Path: where})
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, l) }()
	said, err := s.run(ctx, address(l, where))
	stop()
	if closed := <-served; err == nil {
		err = closed
	}
	if err == nil {
		err = server.Fault()
	}
	if err != nil || s.episode.Ended() {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.conclude(ctx, server, said)
}

// run has the program run to its end, and gives the end of what it wrote.
func (s *session) run(ctx context.Context, url string) (said string, err error) {
	p, err := s.program.Start(ctx, prepare(s.episode.Brief(), url))
	if err != nil {
		return "", err
	}
	s.process = p
	defer p.Stop()
	_ = p.CloseInput() // nothing is said to it there
	out := process.Tail{Keep: answerSize, Show: answerSize}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, p.Output()) // ends with the pipe, whatever ends it
	}()
	select {
	case <-p.Exited():
	case <-s.over:
		p.Left(ctx, s.opts.Grace)
	}
	ended := p.Ended()
	if !ended {
		p.Stop()
	}
	<-read
	select {
	case <-s.over:
		return "", nil
	default:
	}
	if state := p.State(); !state.Success() {
		return "", fmt.Errorf("the program ended with %v; one that has done its work ends with status 0", state)
	}
	return out.Text(s.program), nil
}

// conclude reads how the program ended from the last line of its output.
func (s *session) conclude(ctx context.Context, server *mcpserve.Server, said string) error {
	outcome, stated := chat.ParseOutcome(strings.TrimSpace(said))
	if !stated && len(server.Sessions()) == 0 {
		return errors.New("the program ended without an outcome and has not once come to the MCP server; it finds the address in " + envURL + " and in the file that " + envConfig + " names")
	}
	_, err := s.episode.Commit(ctx, episode.Decision{Source: agentbound.ThoughtNone, Outcome: &outcome})
	return err
}

// call carries out a call of the program as a decision of its own. The context is the
// trial's: the server's only ends later.
func (s *session) call(trial context.Context) mcpserve.Call {
	return func(ctx context.Context, c agentbound.Call) (agentbound.Value, bool, error) {
		d := episode.Decision{Thought: mcpserve.Thought(ctx), Calls: []agentbound.Call{c}}
		if s.episode.Ended() {
			return nil, false, mcpserve.ErrOver
		}
		if s.draft == nil {
			thought, changed, err := s.episode.Review(trial, d)
			if err != nil {
				return nil, false, err
			}
			if changed {
				s.draft, s.thought = &d, thought
				return revision(thought)
			}
		} else {
			if d.Thought == "" {
				d.Thought = s.thought
			}
			d, s.draft = episode.Revised(d, *s.draft), nil
		}
		seen, err := s.episode.Commit(trial, d)
		if errors.Is(err, episode.ErrSteps) {
			close(s.over)
			return nil, false, fmt.Errorf("no step is left: %w", mcpserve.ErrOver)
		}
		if err != nil {
			return nil, false, err
		}
		return seen[0].Value, seen[0].OK, nil
	}
}

// revision answers a call whose Thought was changed. Nothing was carried out.
func revision(thought string) (agentbound.Value, bool, error) {
	v, err := agentbound.EncodeJSON(map[string]any{"revise": map[string]string{
		"thought": thought,
		"how":     "Your thought was revised, and nothing has been done yet. Take the thought above as your own, decide again with it, and call once more; that will be carried out.",
	}})
	return v, true, err
}

// fault is the message of an unscored trial: what happened, and what the program had to
// say on its stderr.
func (s *session) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if s.process != nil {
		if said := s.process.Stderr(); said != "" {
			return fmt.Errorf("%s%s: %w; its stderr ends: %s", Prefix, s.command, err, said)
		}
	}
	return fmt.Errorf("%s%s: %w", Prefix, s.command, err)
}
