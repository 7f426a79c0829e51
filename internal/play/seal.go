package play

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/suite"
)

// Kind is the kind of these subjects, and the prefix of their names.
const Kind = "play"

// version changes when what a subject is told of the procedure changes.
const version = "1"

var subjectName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Agent is a subject as plans hold it.
func Agent(subject string) (agentbound.AgentRef, error) {
	if !subjectName.MatchString(subject) {
		return agentbound.AgentRef{}, fmt.Errorf("subject %q: want up to 64 letters, digits, dots, dashes and underscores", subject)
	}
	return agentbound.AgentRef{Name: Kind + ":" + subject, Kind: Kind, Version: version}, nil
}

// Cover narrows a plan to exactly these tasks: in suite order, whatever order they
// come in, so that the same set is the same run.
func Cover(s *suite.Suite, p agentbound.Plan, tasks []agentbound.TaskID) agentbound.Plan {
	p.Families, p.Splits, p.Tasks = nil, nil, nil
	splits := map[agentbound.Split]bool{}
	for _, f := range s.Families {
		for _, t := range f.Tasks {
			if !slices.Contains(tasks, t.ID) {
				continue
			}
			p.Tasks, splits[t.Split] = append(p.Tasks, t.ID), true
			if !slices.Contains(p.Families, f.ID) {
				p.Families = append(p.Families, f.ID)
			}
		}
	}
	p.Splits = slices.DeleteFunc(agentbound.Splits(), func(s agentbound.Split) bool { return !splits[s] })
	return p
}

// Sealed is a trial under an opaque id. For the evaluator only.
type Sealed struct {
	ID    string           `json:"id"` // 32 hex digits, random
	Run   agentbound.RunID `json:"run"`
	Trial agentbound.Trial `json:"trial"`
}

// Seal creates the plan's run in the store, or finds it there, and gives the sealed
// ids of its trials in plan order. A trial that was sealed before, by this plan or
// another that it serves too, keeps its id. Dir is the private folder that the server
// reads. The new ids come from newID (nil: 128 random bits).
func Seal(ctx context.Context, db store.Store, dir string, s *suite.Suite, p agentbound.Plan, newID func() string) ([]Sealed, error) {
	if err := run.Validate(s, p); err != nil {
		return nil, err
	}
	blob, err := s.Encode()
	if err != nil {
		return nil, err
	}
	if err := db.PutSuite(ctx, store.Suite{Digest: s.Digest, Name: s.Name, Families: len(s.Families), Blob: blob}); err != nil {
		return nil, err
	}
	if _, err := db.CreateRun(ctx, store.Run{Plan: p}, run.Trials(s, p)); err != nil {
		return nil, err
	}
	seals, err := Seals(dir)
	if err != nil {
		return nil, err
	}
	known := map[agentbound.TrialKey]Sealed{}
	for _, k := range seals {
		known[k.Trial.Key] = k
	}
	if newID == nil {
		newID = randomID
	}
	var all, fresh []Sealed
	for t := range run.Trials(s, p) {
		if k, ok := known[t.Key]; ok {
			all = append(all, k)
			continue
		}
		sealed := Sealed{ID: newID(), Run: p.ID(), Trial: t}
		all, fresh = append(all, sealed), append(fresh, sealed)
	}
	return all, addSeals(dir, fresh)
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// sealsFile maps ids to trials, a JSON line each; it only grows.
const sealsFile = "sealed.jsonl"

// Seals gives what was sealed in a private folder, oldest first.
func Seals(dir string) ([]Sealed, error) {
	return readLines[Sealed](filepath.Join(dir, sealsFile))
}

func addSeals(dir string, seals []Sealed) (err error) {
	if len(seals) == 0 {
		return nil
	}
	if err := private(dir); err != nil {
		return err
	}
	f, err := openLines(filepath.Join(dir, sealsFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return appendLines(f, seals...)
}
