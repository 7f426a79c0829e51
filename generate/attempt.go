package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/suite/validate"
)

// Version is the version of the files that a generation keeps.
const Version = 1

// Names of a round's files.
const (
	promptFile = "prompt.md"   // what the writer is asked, whole
	roundFile  = "round.json"  // what is asked for, by whom and with which prompt
	askedFile  = "asked.json"  // that an engine was called, before it was
	answerFile = "answer.md"   // the writer's text
	metaFile   = "answer.json" // how it ended and what it cost; engine lm only
	reportFile = "report.json" // the gates; a round that has one is finished
	familyDir  = "family"      // the package that was validated
)

// Round is round.json.
type Round struct {
	Version   int    `json:"version"`
	Candidate int    `json:"candidate"`
	Round     int    `json:"round"`    // from 1, through all draws
	Revision  int    `json:"revision"` // of the draw, from 0
	Draw      Draw   `json:"draw"`
	Prompt    string `json:"prompt_version"`
	Engine    Engine `json:"engine"`
	Model     string `json:"model,omitempty"`
}

// Asked is asked.json: how often an answer was asked for, and what was set aside for
// each call. Without an answer beside it that counts against the budget.
type Asked struct {
	Times  int   `json:"times"`
	Tokens int64 `json:"tokens"`
}

// Answer is what a writer gave. All but the text is answer.json.
type Answer struct {
	Text    string     `json:"-"`
	Stop    model.Stop `json:"stop"`
	Refusal string     `json:"refusal,omitempty"`
	Model   string     `json:"model,omitempty"` // as served
	Usage   Usage      `json:"usage"`
}

// Usage is what an answer cost in tokens; an estimate where the server does not tell.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

// Judgement is report.json.
type Judgement struct {
	Version   int               `json:"version"`
	Candidate int               `json:"candidate"`
	Round     int               `json:"round"`
	Draw      int               `json:"draw"`
	Revision  int               `json:"revision"`
	Passed    bool              `json:"passed"`
	Refused   bool              `json:"refused,omitempty"` // the provider's no: another draw, not a revision
	Family    string            `json:"family,omitempty"`
	Gates     []validate.Result `json:"gates"`
}

func (j Judgement) report() validate.Report { return validate.Report{Gates: j.Gates} }

// folder is the place of one round.
type folder string

// Names of the folders of rounds.
const (
	attemptsDir   = "attempts"
	candidateName = "%04d"
	roundName     = "%02d"
)

func (r *runner) folder(candidate, round int) folder {
	return folder(filepath.Join(r.o.Dir, attemptsDir, fmt.Sprintf(candidateName, candidate), fmt.Sprintf(roundName, round)))
}

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

func (f folder) has(name string) bool {
	_, err := os.Lstat(f.path(name))
	return err == nil
}

// write puts a file in its place at once, so that a killed process leaves all of it or
// none.
func (f folder) write(name, text string) error { return writeFile(f.path(name), []byte(text)) }

func (f folder) writeJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(f.path(name), append(b, '\n'))
}

// read gives a text; a missing one is empty. One that is larger than an answer may be
// ends after its bound, and is told to its writer.
func (f folder) read(name string) (string, error) {
	b, err := readHead(f.path(name), maxAnswer)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// writeFamily lays a package out anew.
func (f folder) writeFamily(files Files) error {
	if err := os.RemoveAll(f.path(familyDir)); err != nil {
		return err
	}
	for _, name := range files.names() {
		if err := writeFile(filepath.Join(f.path(familyDir), name), []byte(files[name])); err != nil {
			return err
		}
	}
	return nil
}

// readFamily gives the package of a round; nil where there was none.
func (f folder) readFamily() (Files, error) {
	entries, err := os.ReadDir(f.path(familyDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := Files{}
	for _, e := range entries {
		b, err := readRegular(filepath.Join(f.path(familyDir), e.Name()), maxAnswer)
		if err != nil {
			return nil, err
		}
		files[e.Name()] = string(b)
	}
	return files, nil
}

// writeFile writes a file beside its place and moves it there. Folders are made.
func writeFile(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return os.Rename(tmp.Name(), name)
}

func readFile(fsys fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(fsys, name)
	return string(b), err
}
