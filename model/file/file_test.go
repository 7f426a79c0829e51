package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/file"
)

func open(t *testing.T) (*file.Model, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "round-1")
	m, err := file.New("file:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	return m, dir
}

func says(role model.Role, text string) model.Message { return model.Message{Role: role, Text: text} }

var asked = model.Request{Messages: []model.Message{says(model.System, "Be brief."), says(model.User, "Who are you?")}}

// prompts are the files that were written, with their texts.
func prompts(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(dir, "prompts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, "prompts", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(e.Name(), ".md")] = string(b)
	}
	return out
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "answers", name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestQuestionAndAnswer: a question is awaited until a file answers it, and the same
// question is the same file.
func TestQuestionAndAnswer(t *testing.T) {
	m, dir := open(t)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is made before anything is asked: %v", err)
	}
	for range 2 {
		_, err := m.Chat(t.Context(), asked)
		var e *model.Error
		if !errors.Is(err, model.ErrAwaited) || !errors.As(err, &e) || e.Transient() || !strings.Contains(err.Error(), "no answer yet to prompts") {
			t.Fatalf("%v", err)
		}
	}
	all := prompts(t, dir)
	if n, into := m.Awaited(); len(all) != 1 || n != 1 || into != filepath.Join(dir, "answers") {
		t.Errorf("%v, %d awaited in %s", all, n, into)
	}
	for id, text := range all {
		if text != "Be brief.\n\nWho are you?\n" {
			t.Errorf("the question is %q", text)
		}
		write(t, dir, id+".txt", " \n")
		if _, err := m.Chat(t.Context(), asked); !errors.Is(err, model.ErrAwaited) {
			t.Errorf("an empty file is taken as an answer: %v", err)
		}
		write(t, dir, id+".txt", "A desk.")
		res, err := m.Chat(t.Context(), asked)
		if err != nil || res.Message.Text != "A desk." || res.Stop != model.StopEnd || res.Message.Role != model.Assistant {
			t.Errorf("%+v, %v", res, err)
		}
	}
}

// TestNames: what an answer could depend on makes another question.
func TestNames(t *testing.T) {
	m, dir := open(t)
	seed := int64(1)
	follow := slices.Concat(asked.Messages, []model.Message{says(model.Assistant, "A desk."), says(model.User, "Whose?")})
	for _, r := range []model.Request{asked, {Messages: asked.Messages, Seed: &seed}, {Messages: follow}, {Messages: follow[:2]}} {
		if _, err := m.Chat(t.Context(), r); !errors.Is(err, model.ErrAwaited) {
			t.Fatal(err)
		}
	}
	all := prompts(t, dir)
	if len(all) != 3 {
		t.Errorf("%d questions, want 3: the last is the first", len(all))
	}
	later := 0
	for id, text := range all {
		if len(id) != 20 {
			t.Errorf("name %q", id)
		}
		if strings.Contains(text, "# What you answered\n\nA desk.\n\n# What was said to that\n\nWhose?\n") {
			later++
		}
	}
	if later != 1 {
		t.Errorf("the follow-up is not told: %q", all)
	}
}

// TestAnswersThatAreNone.
func TestAnswersThatAreNone(t *testing.T) {
	for name, put := range map[string]func(dir, id string) error{
		"a folder": func(dir, id string) error { return os.Mkdir(filepath.Join(dir, "answers", id+".md"), 0o755) },
		"a link": func(dir, id string) error {
			return os.Symlink(filepath.Join(dir, "prompts", id+".md"), filepath.Join(dir, "answers", id+".md"))
		},
		"too large": func(dir, id string) error {
			return os.WriteFile(filepath.Join(dir, "answers", id+".md"), make([]byte, 1<<20+1), 0o644)
		},
		"two": func(dir, id string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "answers", id+".md"), []byte("a"), 0o644), os.WriteFile(filepath.Join(dir, "answers", id+".json"), []byte("b"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, dir := open(t)
			if _, err := m.Chat(t.Context(), asked); !errors.Is(err, model.ErrAwaited) {
				t.Fatal(err)
			}
			for id := range prompts(t, dir) {
				if err := put(dir, id); err != nil {
					t.Fatal(err)
				}
			}
			_, err := m.Chat(t.Context(), asked)
			if err == nil || errors.Is(err, model.ErrAwaited) || !strings.Contains(err.Error(), "could not be read") {
				t.Errorf("%v", err)
			}
			if strings.Contains(err.Error(), filepath.Dir(dir)) || !strings.Contains(err.Error(), "answers"+string(filepath.Separator)) {
				t.Errorf("errors are stored, and this one tells where on this machine: %v", err)
			}
		})
	}
}

// TestFolderThatIsNone: where questions cannot be written is told, and no path of this
// machine.
func TestFolderThatIsNone(t *testing.T) {
	m, dir := open(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prompts"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := m.Chat(t.Context(), asked)
	if err == nil || errors.Is(err, model.ErrAwaited) || !strings.Contains(err.Error(), "could not be written: mkdir prompts: ") {
		t.Errorf("%v", err)
	}
}

func TestSpecifications(t *testing.T) {
	for _, spec := range []string{"file:", "file:/", "file:a b", "file:-x"} {
		if m, err := file.New(spec); err == nil {
			t.Errorf("%q is %+v", spec, m.Ref())
		}
	}
	m, err := file.New("file:some/where/round-7")
	if err != nil || m.Ref().Name != "file:round-7" {
		t.Errorf("%+v, %v", m.Ref(), err)
	}
}

func TestNoTools(t *testing.T) {
	m, dir := open(t)
	r := asked
	r.Tools = []agentbound.Tool{{Name: "look"}}
	if _, err := m.Chat(t.Context(), r); err == nil || errors.Is(err, model.ErrAwaited) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Chat(ctx, asked); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a question was written: %v", err)
	}
}
