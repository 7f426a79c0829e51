package prompt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/peterh/liner"
	"golang.org/x/term"
)

// ErrAborted says that the person left off a line (Ctrl-C).
var ErrAborted = errors.New("left off")

// Lines reads what a person types.
type Lines interface {
	// Read gives the next line. It fails with ErrAborted, with io.EOF after the last
	// line, or with ctx's error.
	Read(ctx context.Context, prompt string) (string, error)
	// Complete sets what the Tab key offers: the whole lines that a line may become.
	Complete(func(line string) []string)
	// Close gives the terminal back.
	Close() error
}

// NewLines reads from in: with editing, history and completion where in and out are the
// process's own terminal, and plain lines otherwise.
func NewLines(in io.Reader, out io.Writer) Lines {
	if in == os.Stdin && out == os.Stdout && isatty.IsTerminal(os.Stdin.Fd()) && isatty.IsTerminal(os.Stdout.Fd()) && liner.TerminalSupported() {
		state := liner.NewLiner()
		state.SetCtrlCAborts(true)
		state.SetTabCompletionStyle(liner.TabPrints)
		return &edited{state: state}
	}
	return &unedited{in: bufio.NewReader(in), out: out}
}

// Width is the width of the process's terminal, 80 where there is none, at most 100:
// longer lines are hard to read.
func Width() int {
	const usual, most = 80, 100
	w, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || w <= 0 {
		return usual
	}
	return min(w, most)
}

type edited struct{ state *liner.State }

func (e *edited) Complete(f func(string) []string) { e.state.SetCompleter(f) }
func (e *edited) Close() error                     { return e.state.Close() }

func (e *edited) Read(ctx context.Context, prompt string) (string, error) {
	line, err := await(ctx, func() (string, error) { return e.state.Prompt(prompt) })
	switch {
	case errors.Is(err, liner.ErrPromptAborted):
		return "", ErrAborted
	case err == nil && strings.TrimSpace(line) != "":
		e.state.AppendHistory(line)
	}
	return line, err
}

type unedited struct {
	in  *bufio.Reader
	out io.Writer
}

func (*unedited) Complete(func(string) []string) {}
func (*unedited) Close() error                   { return nil }

func (u *unedited) Read(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(u.out, prompt)
	line, err := await(ctx, func() (string, error) { return u.in.ReadString('\n') })
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	if err == nil {
		fmt.Fprintln(u.out, strings.TrimRight(line, "\r\n")) // a script's output reads like the session
	}
	return strings.TrimRight(line, "\r\n"), err
}

// await reads a line and gives up when ctx ends. A read of a terminal cannot be broken
// off: the goroutine stays until the process, which is about to end, does.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := read()
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
