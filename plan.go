package agentbound

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

type (
	// RunID is the digest of a resolved plan, 16 hex digits.
	RunID string
	// TrialKey is the digest of what makes a trial what it is, 32 hex digits.
	TrialKey string
)

// PlanVersion is the version of the stored plan.
const PlanVersion = 1

// Plan is a resolved run: everything that decides what its trials are and how they
// are judged, and nothing else. Equal plans are the same run.
type Plan struct {
	Version      int          `json:"version"`
	Suite        SuiteRef     `json:"suite"`
	Agent        AgentRef     `json:"agent"`
	Intervention Intervention `json:"intervention"`
	World        string       `json:"world"`
	Judges       []string     `json:"judges"`             // configurations, the first is the headline's
	Families     []FamilyID   `json:"families,omitempty"` // empty: all of the suite
	Splits       []Split      `json:"splits"`
	Tasks        []TaskID     `json:"tasks,omitempty"` // of families × splits only these; empty: all
	Repeats      int          `json:"repeats"`
	Limits       Limits       `json:"limits"`
	Seed         uint64       `json:"seed"`
	Counter      int          `json:"counter,omitempty"` // --new: another run of the same plan
}

// SuiteRef names a suite by content.
type SuiteRef struct {
	Name     string `json:"name"`
	Digest   Digest `json:"digest"`
	Families int    `json:"families"`
}

// AgentRef is a resolved agent. Version changes when its prompt, loop or published
// rule changes, so that stored trials of the old one are not taken for the new.
type AgentRef struct {
	Name          string            `json:"name"` // as in --agent
	Kind          string            `json:"kind"`
	Version       string            `json:"version"`
	Privileged    bool              `json:"privileged,omitempty"` // reads the package: an instrument check
	Deterministic bool              `json:"deterministic,omitempty"`
	Settings      map[string]string `json:"settings,omitempty"`
	// Label is what tables call the agent, where that is another name than Name: a
	// preset's. It makes a run of its own, and decides no trial.
	Label string `json:"label,omitempty"`
}

// Title is the name for tables.
func (a AgentRef) Title() string {
	if a.Label != "" {
		return a.Label
	}
	return a.Name
}

// Intervention is a resolved mitigation; Name is "bare" for none.
type Intervention struct {
	Name     string            `json:"name"`
	Version  string            `json:"version,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
}

// Bare is no intervention.
const Bare = "bare"

// ID is the digest of the plan.
func (p Plan) ID() RunID { return RunID(DigestJSON(p)[:16]) }

// Key is the digest of one trial of the plan: task, resolved agent, intervention,
// world, limits, seed, repeat and counter. It holds no run id, no judge and no label of
// the agent, so that a stored trial serves every run that would make it again.
func (p Plan) Key(family Digest, split Split, repeat int) TrialKey {
	p.Agent.Label = ""
	return TrialKey(DigestJSON(struct {
		Family       Digest
		Split        Split
		Agent        AgentRef
		Intervention Intervention
		World        string
		Limits       Limits
		Seed         uint64
		Repeat       int
		Counter      int
	}{family, split, p.Agent, p.Intervention, p.World, p.Limits, p.Seed, repeat, p.Counter})[:32])
}

// DigestJSON is the SHA-256 of v's JSON. It panics on what has none, which only a
// programming mistake can bring.
func DigestJSON(v any) Digest {
	b, err := EncodeJSON(v)
	if err != nil {
		panic(fmt.Sprintf("agentbound: digest of %T: %v", v, err))
	}
	return DigestBytes(b)
}

// DigestBytes is the SHA-256 of b.
func DigestBytes(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}

// Trial is one attempt of a run at a task.
type Trial struct {
	Key       TrialKey    `json:"key"`
	Family    FamilyID    `json:"family"`
	Archetype ArchetypeID `json:"archetype"`
	Split     Split       `json:"split"`
	Repeat    int         `json:"repeat"`
}

// Result is a trial with its trajectory and verdicts: one unit in the store.
type Result struct {
	Trial
	Trajectory *Trajectory
	Verdicts   []Verdict
}
