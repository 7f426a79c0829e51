// Package file is the model whose answers are handed in by file: each question becomes
// a Markdown file in a folder, and whoever answers, a person or any model, puts a file of
// the same name beside it. A question is named by its content, so that asking again
// finds the answer, and a name tells nothing.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Scheme is what a specification begins with: file:DIR.
const Scheme = "file"

// version changes with how questions are named or answers are read.
const version = "1"

// Folders under the one that a specification names.
const (
	promptsDir = "prompts"
	answersDir = "answers"
)

// maxAnswer bounds an answer's file, in bytes.
const maxAnswer = 1 << 20

// Model hands questions out and takes answers in. It implements model.Model.
type Model struct {
	dir, name string

	mu      sync.Mutex
	awaited map[string]bool // questions without an answer, by name
}

// New gives the model that DIR names, with or without the scheme before it; its folders
// are made with the first question. Models are told apart by the last name of the path: it says whose answers
// these are, and becomes part of what their judge is called.
func New(spec string) (*Model, error) {
	dir := strings.TrimPrefix(spec, Scheme+":")
	full, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return nil, fmt.Errorf("%s:DIR needs a folder, as in %s:answers-of-anna", Scheme, Scheme)
	}
	m := &Model{dir: dir, name: filepath.Base(full), awaited: map[string]bool{}}
	if !plainName.MatchString(m.name) {
		return nil, fmt.Errorf("%s:%s: the folder's name %q tells these answers from others; accepted: letters, digits, dots, dashes and underscores", Scheme, dir, m.name)
	}
	return m, nil
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Ref implements model.Model.
func (m *Model) Ref() model.Ref {
	return model.Ref{Name: Scheme + ":" + m.name, Settings: map[string]string{"adapter": Scheme + "/" + version}}
}

// Chat implements model.Model. A question without an answer is written, and the error is
// an [*model.Error] because of [model.ErrAwaited].
func (m *Model) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, err
	}
	if len(r.Tools) > 0 {
		return model.Response{}, m.fault("tools cannot be called by file", nil)
	}
	id := string(name(r))
	if err := m.ask(id, question(r)); err != nil {
		return model.Response{}, m.fault("the question could not be written", err)
	}
	answer, err := m.answer(id)
	switch {
	case err != nil:
		return model.Response{}, m.fault("the answer could not be read", err)
	case strings.TrimSpace(answer) == "":
		m.await(id)
		return model.Response{}, m.fault("no answer yet to "+filepath.Join(promptsDir, id+".md"), model.ErrAwaited)
	}
	return model.Response{Message: model.Message{Role: model.Assistant, Text: answer}, Stop: model.StopEnd, Model: Scheme + ":" + m.name}, nil
}

func (m *Model) await(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.awaited[id] = true
}

// Awaited is how many questions had no answer when they were asked, and where answers
// are put.
func (m *Model) Awaited() (questions int, into string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.awaited), filepath.Join(m.dir, answersDir)
}

// ask writes a question, and makes the folders where they are missing.
func (m *Model) ask(id, text string) error {
	for _, sub := range []string{promptsDir, answersDir} {
		if err := os.MkdirAll(filepath.Join(m.dir, sub), 0o755); err != nil {
			return err
		}
	}
	return writeNew(filepath.Join(m.dir, promptsDir, id+".md"), text)
}

func (m *Model) fault(what string, cause error) error {
	if cause != nil && !errors.Is(cause, model.ErrAwaited) {
		// Errors are stored: paths begin in the model's folder, whose name stands before.
		what += ": " + strings.ReplaceAll(cause.Error(), filepath.Clean(m.dir)+string(filepath.Separator), "")
	}
	return &model.Error{Fault: model.FaultRequest, Who: Scheme + ":" + m.name, What: what, Err: cause}
}

// name is a digest of all that an answer could depend on.
func name(r model.Request) agentbound.Digest {
	return agentbound.DigestJSON(struct {
		Version  string
		Messages []model.Message
		Seed     *int64
	}{version, r.Messages, r.Seed})[:20]
}

// question writes a conversation as one text: what a system and a user say first stands
// as it is, and each later turn under a heading.
func question(r model.Request) string {
	var b strings.Builder
	for i, msg := range r.Messages {
		if i > 0 {
			b.WriteString("\n")
		}
		switch {
		case msg.Role == model.Assistant:
			b.WriteString("# What you answered\n\n")
		case i > 1:
			b.WriteString("# What was said to that\n\n")
		}
		b.WriteString(strings.TrimRight(msg.Text, "\n") + "\n")
	}
	return b.String()
}

// answer reads what was handed in; empty where there is nothing yet.
func (m *Model) answer(id string) (string, error) {
	found, text := "", ""
	for _, ext := range []string{".json", ".md", ".txt"} {
		path := filepath.Join(m.dir, answersDir, id+ext)
		b, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", err
		case found != "":
			return "", fmt.Errorf("%s and %s both answer one question; keep one", found, path)
		}
		found, text = path, string(b)
	}
	return text, nil
}

// read gives a regular file within bounds: no link, which would lead out of the folder.
func read(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file; put the answer in its place", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAnswer+1))
	if err == nil && len(b) > maxAnswer {
		return nil, fmt.Errorf("%s has more than %d bytes, which is no answer", path, maxAnswer)
	}
	return b, err
}

// writeNew writes a file that is not there, whole or not at all.
func writeNew(path, text string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
