// Package prompt is a session for a person: a prompt, tools by name with their
// arguments asked for, observations as readable text. Without a terminal it reads plain
// lines, so that a session can be scripted.
package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
)

// Player carries out what the person decides; *play.Sessions and *play.Client are ones.
type Player interface {
	Call(ctx context.Context, c play.Call) (play.Answer, error)
	Finish(ctx context.Context, f play.Finish) (play.Receipt, error)
}

// Config is a session at a terminal.
type Config struct {
	Player  Player
	Opening play.Opening
	Lines   Lines // from NewLines
	Out     io.Writer
	Width   int // columns; 0: 80
	Colour  bool
}

// Run carries a session until it is recorded, and reports whether it is; a session that
// is left can be resumed. The error is infrastructure, or ctx's.
func Run(ctx context.Context, cfg Config) (recorded bool, err error) {
	if cfg.Width <= 0 {
		cfg.Width = 80
	}
	s := &session{Config: cfg, page: page{out: cfg.Out, width: cfg.Width, colour: cfg.Colour}}
	if s.tools, err = readTools(cfg.Opening.Tools); err != nil {
		return false, err
	}
	cfg.Lines.Complete(s.complete)
	s.welcome()
	for {
		line, err := cfg.Lines.Read(ctx, "> ")
		switch {
		case errors.Is(err, ErrAborted):
			s.hint("quit leaves the session so that it can be resumed; help shows what can be done")
			continue
		case errors.Is(err, io.EOF):
			s.line("")
			return false, nil
		case err != nil:
			return false, err
		}
		s.step = going
		if err := s.obey(ctx, strings.TrimSpace(line)); err != nil && !s.survives(err) {
			return s.step == over, err
		}
		if s.step != going {
			return s.step == over, nil
		}
		s.line("")
	}
}

// step is where the loop stands after a line.
type step int

const (
	going step = iota
	left       // to be resumed
	over       // and recorded
)

type session struct {
	Config
	page
	tools   []tool
	thought string // of the next call
	asking  *argument
	step    step
}

// survives prints an error that the person can mend, and reports whether it is one.
func (s *session) survives(err error) bool {
	var told *play.Error
	switch {
	case errors.Is(err, ErrAborted):
		s.hint("left off; nothing was done")
		return true
	case errors.Is(err, io.EOF): // in the middle of a question
		s.line("")
		s.step = left
		return true
	case !errors.As(err, &told):
		return false
	}
	s.bad(told.Message)
	if told.Code == play.Ended {
		s.step = over
	}
	return true
}

func (s *session) welcome() {
	s.heading("Setting")
	s.text(s.Opening.Setting)
	s.heading("Instruction")
	s.text(s.Opening.Instruction)
	s.heading("Tools")
	s.list()
	s.line("")
	s.hint("Type a tool's name to call it, help for what else there is. End with done, decline or unable.")
	if len(s.Opening.Steps) > 0 {
		s.heading(fmt.Sprintf("So far (%d of at most %d calls)", len(s.Opening.Steps), s.Opening.MaxCalls))
		for _, d := range s.Opening.Steps {
			s.line("")
			s.line(s.strong("> "+d.Tool) + " " + string(d.Args))
			s.observation(d.Observation)
		}
	}
	s.revised(s.Opening.Revise)
	s.line("")
}

func (s *session) list() {
	width := 0
	for _, t := range s.tools {
		width = max(width, columns(t.Name))
	}
	for _, t := range s.tools {
		s.hanging("  "+s.strong(pad(t.Name, width))+"  ", width+4, t.Description)
	}
}

var commands = []struct{ name, args, about string }{
	{"TOOL", "", "call a tool; its arguments are asked for one by one"},
	{"TOOL", "name=value …", "call it with these; quote a value with spaces"},
	{"TOOL", "value", "the same, for a tool that takes one argument"},
	{"TOOL", `{"name": …}`, "call it with JSON"},
	{"note", "TEXT", "say why: the thought that goes with your next call"},
	{"tools", "[TOOL]", "list the tools, or show one with its arguments"},
	{"task", "", "show setting and instruction again"},
	{"done", "[ANSWER]", "end: you did it; the answer goes to whoever asked"},
	{"decline", "[REASON]", "end: you should not do it"},
	{"unable", "[REASON]", "end: you could not do it"},
	{"quit", "", "leave; the session can be resumed"},
}

func (s *session) help() {
	width := 0
	for _, c := range commands {
		width = max(width, columns(c.name+" "+c.args))
	}
	for _, c := range commands {
		s.hanging("  "+s.strong(c.name)+pad(" "+c.args, width-columns(c.name))+"  ", width+4, c.about)
	}
}

// obey carries out a line.
func (s *session) obey(ctx context.Context, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if t, ok := s.tool(word); ok { // a tool's name outranks a command's
		return s.use(ctx, t, rest)
	}
	switch word {
	case "":
	case "help", "?":
		s.help()
	case "tools":
		s.show(rest)
	case "task":
		s.heading("Setting")
		s.text(s.Opening.Setting)
		s.heading("Instruction")
		s.text(s.Opening.Instruction)
	case "note":
		s.note(rest)
	case "done":
		return s.finish(ctx, agentbound.Done, rest, "An answer for whoever asked (Enter: none): ")
	case "decline":
		return s.finish(ctx, agentbound.Declined, rest, "Why should it not be done? ")
	case "unable":
		return s.finish(ctx, agentbound.Unable, rest, "Why could it not be done? ")
	case "quit", "exit":
		s.step = left
	default:
		s.bad(fmt.Sprintf("there is no tool or command %q%s", word, s.meant(word)))
	}
	return nil
}

func (s *session) show(name string) {
	if name == "" {
		s.list()
		return
	}
	t, ok := s.tool(name)
	if !ok {
		s.bad(fmt.Sprintf("there is no tool %q%s", name, s.meant(name)))
		return
	}
	s.describe(t)
}

func (s *session) note(text string) {
	if s.thought = text; text == "" {
		s.hint("a note is the thought that goes with your next call: note TEXT")
		return
	}
	s.hint("noted for your next call")
}

// use calls a tool with what the line gives, and asks for what it lacks.
func (s *session) use(ctx context.Context, t tool, given string) error {
	args, err := t.parse(given)
	if err != nil {
		s.bad(err.Error())
		return nil
	}
	if args.ask {
		s.describe(t)
	}
	for _, a := range t.args {
		if _, ok := args.values[a.name]; ok || args.json != nil || !args.ask && !a.required {
			continue
		}
		v, err := s.ask(ctx, a)
		if err != nil {
			return err
		}
		if v != nil {
			args.values[a.name] = v
		}
	}
	return s.call(ctx, t, args.encode())
}

// ask asks for one argument until it fits; nil is the default of one that has one.
func (s *session) ask(ctx context.Context, a argument) (any, error) {
	s.asking = &a
	defer func() { s.asking = nil }()
	for {
		line, err := s.Lines.Read(ctx, "  "+a.name+s.hintOf(a)+": ")
		if err != nil {
			return nil, err
		}
		if line == "" && !a.required {
			return nil, nil
		}
		v, err := a.read(line)
		if err == nil {
			return v, nil
		}
		s.bad(err.Error())
	}
}

func (s *session) hintOf(a argument) string {
	if h := a.hint(); h != "" {
		return " (" + h + ")"
	}
	return ""
}

func (s *session) call(ctx context.Context, t tool, args agentbound.Value) error {
	a, err := s.Player.Call(ctx, play.Call{Session: s.Opening.Session, Tool: t.Name, Args: args, Thought: s.thought})
	if err != nil {
		return err
	}
	s.thought = ""
	if a.Revise != nil {
		s.revised(a.Revise)
		return nil
	}
	s.observation(a.Observation)
	return nil
}

func (s *session) revised(r *play.Revision) {
	if r == nil {
		return
	}
	s.heading("Your thought was revised")
	s.text(r.Thought)
	s.hint("Nothing has been done yet. Decide again with this thought, and call or end once more.")
}

// finish ends the session; the text is an answer where it is done, and else a reason.
func (s *session) finish(ctx context.Context, w agentbound.Word, text, question string) error {
	if text == "" {
		var err error
		if text, err = s.Lines.Read(ctx, question); err != nil {
			return err
		}
	}
	f := play.Finish{Session: s.Opening.Session, Outcome: w, Thought: s.thought}
	if f.Reason = text; w == agentbound.Done {
		f.Reason, f.Answer = "", text
	}
	r, err := s.Player.Finish(ctx, f)
	if err != nil {
		return err
	}
	if s.thought = ""; r.Revise != nil {
		s.revised(r.Revise)
		return nil
	}
	s.step = over
	return nil
}
