package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/process"
)

// Play implements agent.Agent: it starts the program, has it play, and leaves nothing
// of it behind. A program that breaks the protocol, or ends before it has stated an
// outcome, is a fault and leaves the trial unscored.
func (a *Agent) Play(ctx context.Context, e *episode.Episode) error {
	pr, err := a.program.Start(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s%s: %w", Prefix, a.command, err)
	}
	s := &session{Agent: a, process: pr, episode: e}
	err = s.play(ctx)
	pr.Stop()
	if err == nil || e.Ended() { // the episode knows by itself that its world or corrector has failed
		return err
	}
	err = s.fault(ctx, err)
	e.Fault(err)
	return err
}

// session is a program at one trial.
type session struct {
	*Agent
	process *process.Process
	episode *episode.Episode
}

// play is agent.Loop's order of things, with one thing between review and commitment:
// before an outcome is committed the program has to end, because one that crashes has
// not stated it.
func (s *session) play(ctx context.Context) error {
	d, err := s.greet(ctx)
	for {
		if err != nil {
			return err
		}
		if d, err = s.review(ctx, d); err != nil {
			return err
		}
		if d.Outcome != nil {
			return s.conclude(ctx, d)
		}
		seen, err := s.episode.Commit(ctx, d)
		if errors.Is(err, episode.ErrSteps) {
			return s.dismiss(ctx, agentbound.EndSteps)
		}
		if err != nil {
			return err
		}
		if d, err = s.ask(ctx, observe(seen)); err != nil {
			return err
		}
	}
}

// greet sends hello. A program that decides without it may have left by then.
func (s *session) greet(ctx context.Context) (episode.Decision, error) {
	line, err := encode(hello(s.episode.Brief()))
	if err != nil {
		return episode.Decision{}, err
	}
	_ = s.process.Send(line)
	return s.answer(ctx)
}

// ask sends a message and gives the program's answer.
func (s *session) ask(ctx context.Context, message any) (episode.Decision, error) {
	line, err := encode(message)
	if err != nil {
		return episode.Decision{}, err
	}
	if s.process.Unasked() {
		return episode.Decision{}, s.complain(ctx, refuse("the program wrote a second line before it was answered"), nil)
	}
	if err := s.process.Send(line); err != nil {
		return episode.Decision{}, s.silent(ctx, "its input")
	}
	return s.answer(ctx)
}

func (s *session) answer(ctx context.Context) (episode.Decision, error) {
	line, err := s.process.Receive(s.opts.Line)
	if errors.Is(err, io.EOF) {
		return episode.Decision{}, s.silent(ctx, "its output")
	}
	if errors.Is(err, process.ErrLine) {
		err = refuse("a line of more than %d bytes", s.opts.Line)
	}
	var d episode.Decision
	if err == nil {
		d, err = decode(line)
	}
	if errors.As(err, new(refused)) {
		return d, s.complain(ctx, err, line)
	}
	return d, err
}

// silent says what became of a program that closed a pipe.
func (s *session) silent(ctx context.Context, pipe string) error {
	if !s.process.Left(ctx, s.opts.Grace) {
		return fmt.Errorf("the program closed %s before it stated an outcome", pipe)
	}
	return fmt.Errorf("the program ended (%v) before it stated an outcome", s.process.State())
}

// complain tells the program what was wrong, so that its own log can say it, and gives
// the fault.
func (s *session) complain(ctx context.Context, err error, wrote []byte) error {
	why := process.Shorten(s.program.Redact(err.Error()), 500)
	if line, err := encode(errorMessage{"error", why}); err == nil {
		s.process.Leave(ctx, line, s.opts.Grace)
	}
	why = "the program broke the protocol: " + why
	if wrote != nil {
		why += "; it wrote " + strconv.Quote(process.Shorten(strings.TrimSpace(s.program.Redact(string(wrote))), 200))
	}
	return errors.New(why)
}

// review has the Thought reviewed, and the program decide once more where it came back
// changed. A program that states no Thought of its own then has taken the one it got.
func (s *session) review(ctx context.Context, draft episode.Decision) (episode.Decision, error) {
	thought, changed, err := s.episode.Review(ctx, draft)
	if err != nil || !changed {
		return draft, err
	}
	d, err := s.ask(ctx, reviseMessage{"revise", thought})
	if err != nil {
		return d, err
	}
	if d.Thought == "" {
		d.Thought = thought
	}
	return episode.Revised(d, draft), nil
}

// conclude commits an outcome once the program has ended well, or was ended by us for
// staying on.
func (s *session) conclude(ctx context.Context, d episode.Decision) error {
	if err := s.dismiss(ctx, agentbound.EndOutcome); err != nil {
		return err
	}
	if s.process.Ended() && !s.process.State().Success() {
		return fmt.Errorf("the program stated an outcome and then ended with %v; one that has done its work ends with status 0", s.process.State())
	}
	_, err := s.episode.Commit(ctx, d)
	return err
}

// dismiss tells the program that the trial is over. The error is ctx's.
func (s *session) dismiss(ctx context.Context, reason agentbound.EndReason) error {
	line, err := encode(finalMessage{"final", reason})
	if err != nil {
		return err
	}
	s.process.Leave(ctx, line, s.opts.Grace)
	return ctx.Err()
}

// fault is the message of an unscored trial: what happened, and what the program had
// to say on its stderr.
func (s *session) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	said := s.process.Stderr()
	if said == "" {
		return fmt.Errorf("%s%s: %w", Prefix, s.command, err)
	}
	return fmt.Errorf("%s%s: %w; its stderr ends: %s", Prefix, s.command, err, said)
}
