package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/validate"
)

// Names in the folder of a generation.
const (
	familiesDir    = "families"
	suiteFile      = "suite.yaml"
	journalFile    = "candidates.jsonl"
	provenanceFile = "provenance.json"
)

// Provenance is how a family came to be; it lies beside it.
type Provenance struct {
	Version   int               `json:"version"`
	Family    string            `json:"family"`
	Digest    agentbound.Digest `json:"digest"`
	Program   string            `json:"program,omitempty"`
	Engine    Engine            `json:"engine"`
	Model     string            `json:"model,omitempty"`
	Prompt    string            `json:"prompt_version,omitempty"`
	Seed      uint64            `json:"seed"`
	Candidate int               `json:"candidate"`
	Round     int               `json:"round"`
	Draw      Draw              `json:"draw,omitzero"`
	Gates     []string          `json:"gates"`             // that it passed
	Skipped   []string          `json:"skipped,omitempty"` // that nobody could ask
	Train     string            `json:"train,omitempty"`   // never: its seed is for evaluation only
}

// accept takes a family that passed, unless one like it was accepted meanwhile. The
// report is written first: a round that passed and whose family is not in the suite is
// judged again.
func (r *runner) accept(f folder, j *Judgement, report validate.Report, family *agentbound.Family, files Files, p at) error {
	err := r.settle(f, j, report, family, files, p)
	switch {
	case err != nil:
		return err
	case j.Passed:
		r.tell(j.Candidate, j.Round, "accepted: %s", family.ID)
	default:
		r.tell(j.Candidate, j.Round, "failed: %s", joined(j.report().Failed()))
	}
	return nil
}

func (r *runner) settle(f folder, j *Judgement, report validate.Report, family *agentbound.Family, files Files, p at) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	report.Set(r.valid.Novel(family, p.wanted().Seed))
	j.Gates, j.Passed = report.Gates, report.Passed()
	if err := f.writeJSON(reportFile, j); err != nil || !j.Passed {
		return err
	}
	if err := r.install(*j, family, files, p); err != nil {
		return err
	}
	r.remember(family)
	return nil
}

// install puts a family into the suite at once, with its provenance.
func (r *runner) install(j Judgement, f *agentbound.Family, files Files, p at) error {
	parent := filepath.Join(r.o.Dir, familiesDir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".new-")
	if err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	names := []string{yamlName}
	for _, k := range f.Toolkits {
		names = append(names, k.Name)
	}
	for _, name := range names {
		if err := writeFile(filepath.Join(tmp, name), []byte(files[name])); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(r.provenance(j, f, p), "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(tmp, provenanceFile), append(b, '\n')); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(parent, string(f.ID)))
}

func (r *runner) provenance(j Judgement, f *agentbound.Family, p at) Provenance {
	out := Provenance{
		Version: Version, Family: string(f.ID), Digest: f.Digest, Program: r.o.Program, Engine: r.o.Engine, Prompt: PromptVersion, Seed: r.o.Seed,
		Candidate: j.Candidate, Round: j.Round, Draw: p.draw,
	}
	if r.o.Model != nil {
		out.Model = r.o.Model.Ref().Name
	}
	if p.draw.Seed != nil {
		out.Train = p.draw.Seed.Train
	}
	out.Gates, out.Skipped = askedGates(j.Gates)
	return out
}

// isInstalled reports whether a candidate's family lies in the suite.
func (r *runner) isInstalled(candidate int, id string) bool {
	if !isName(id) {
		return false
	}
	b, err := readRegular(filepath.Join(r.o.Dir, familiesDir, id, provenanceFile), maxJSON)
	var p Provenance
	return err == nil && json.Unmarshal(b, &p) == nil && p.Candidate == candidate
}

// installed loads the families of the suite, and removes what a killed process left half
// installed.
func (r *runner) installed() ([]agentbound.Family, error) {
	parent := filepath.Join(r.o.Dir, familiesDir)
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []agentbound.Family
	for _, e := range entries {
		name := filepath.Join(parent, e.Name())
		if strings.HasPrefix(e.Name(), ".new-") {
			if err := os.RemoveAll(name); err != nil {
				return nil, err
			}
			continue
		}
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		s, err := suite.Open(name)
		if err != nil {
			return nil, fmt.Errorf("an accepted family does not load any more: %w", err)
		}
		out = append(out, s.Families...)
	}
	return out, nil
}

// record adds a finished candidate to the journal.
func (r *runner) record(c Candidate) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(r.o.Dir, journalFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// finished reads the journal. A line that a killed process left unfinished is taken off:
// its candidate is read from its rounds again.
func (r *runner) finished() (map[int]Candidate, error) {
	name := filepath.Join(r.o.Dir, journalFile)
	b, err := readRegular(name, maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if i := bytes.LastIndexByte(b, '\n'); i != len(b)-1 {
		b = b[:i+1]
		if err := writeFile(name, b); err != nil {
			return nil, err
		}
	}
	done := map[int]Candidate{}
	n := 0
	for line := range bytes.Lines(b) {
		n++
		var c Candidate
		err := decodeJSON(line, &c)
		if err == nil {
			err = r.isFinished(c)
		}
		if _, twice := done[c.Candidate]; err == nil && twice {
			err = fmt.Errorf("candidate %d has another line", c.Candidate)
		}
		if err != nil {
			return nil, usage("%s:%d: %w; the file was damaged: remove the line, and its candidate is read from its rounds again", name, n, err)
		}
		done[c.Candidate] = c
	}
	return done, nil
}

// isFinished says why a line of the journal is none that was written for this folder.
func (r *runner) isFinished(c Candidate) error {
	switch {
	case c.Version != Version:
		return fmt.Errorf("version %d; accepted: %d", c.Version, Version)
	case c.Candidate < 1 || c.Draws < 1 || c.Rounds < 1:
		return fmt.Errorf("candidate %d of %d draws, %d rounds; accepted: each from 1", c.Candidate, c.Draws, c.Rounds)
	case c.Status != Accepted && c.Status != GivenUp:
		return fmt.Errorf("status %q; accepted: %s, %s", c.Status, Accepted, GivenUp)
	case c.Status == Accepted && !r.isInstalled(c.Candidate, string(c.Family)):
		return fmt.Errorf("candidate %d was accepted, and its family %q is not in %s", c.Candidate, c.Family, filepath.Join(r.o.Dir, familiesDir))
	case c.Status == GivenUp && c.Family != "":
		return fmt.Errorf("candidate %d was given up, and names a family", c.Candidate)
	case !slices.ContainsFunc(c.Failed, func(g string) bool { return !isGate(g) }):
		return c.Class.Validate()
	}
	return fmt.Errorf("failed %q holds a gate that is not known; accepted: %s", c.Failed, joined(validate.Gates()))
}

func isGate(name string) bool { return slices.Contains(validate.Gates(), name) }

// summary puts together how all candidates stand, and the rates of all rounds.
func (r *runner) summary(states []Candidate) (Summary, error) {
	s := Summary{Version: Version, Dir: r.o.Dir, Engine: r.o.Engine, Prompt: PromptVersion, Candidates: states, Spent: r.ledger.total()}
	if r.o.Model != nil {
		s.Model = r.o.Model.Ref().Name
	}
	s.Accepted, s.Budget = s.Count(Accepted), s.Count(Stopped) > 0
	reports, err := filepath.Glob(filepath.Join(globbed(r.o.Dir), attemptsDir, "*", "*", reportFile))
	if err != nil {
		return s, err
	}
	slices.Sort(reports)
	var first, all []validate.Report
	for _, name := range reports {
		j, fault := folder(filepath.Dir(name)).judgement()
		if fault != nil { // the others are counted all the same
			err = errors.Join(err, fault)
			continue
		}
		all = append(all, j.report())
		if j.Revision == 0 {
			first = append(first, j.report())
		}
	}
	s.First, s.Rates = validate.Rates(first), validate.Rates(all)
	return s, err
}
