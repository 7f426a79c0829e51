package guardagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/intervene"
)

// guarded is a case: the call to decide on, with what the guard sees of the trial. Model
// and code see the same bytes.
type guarded struct {
	Instruction string          `json:"instruction"`
	Tools       []string        `json:"tools"`
	Cut         string          `json:"cut,omitempty"`
	History     []past          `json:"history"`
	Thought     string          `json:"thought"`
	Call        agentbound.Call `json:"call"`

	encoded agentbound.Value
}

type past struct {
	Thought      string             `json:"thought"`
	Observations []agentbound.Value `json:"observations"`
}

func newCase(p intervene.Proposal, history int) (guarded, error) {
	shown, cut := p.Within(history)
	c := guarded{Instruction: shown.Instruction, Tools: append([]string{}, shown.Tools...), History: []past{}, Thought: shown.Thought, Call: p.Call}
	if len(c.Call.Args) == 0 {
		c.Call.Args = agentbound.Value("{}")
	}
	if cut != (intervene.Cut{}) {
		c.Cut = fmt.Sprintf("the oldest %d decisions are left out, and %d older values are shortened to their beginning", cut.Turns, cut.Values)
	}
	for _, t := range shown.History {
		c.History = append(c.History, past{t.Thought, append([]agentbound.Value{}, t.Observations...)})
	}
	var err error
	if c.encoded, err = agentbound.EncodeJSON(c); err != nil {
		return c, fmt.Errorf("the case has no JSON form: %w", err)
	}
	return c, nil
}

// verdict is what guard code gives.
type verdict struct {
	Allow  bool
	Reason string
}

// execute runs the code of an answer on the case, within the limits of internal/star:
// steps, memory, no load, nothing from outside. An error says what to mend.
func (w *work) execute(ctx context.Context, answer string, c guarded) (verdict, error) {
	code, err := block(answer)
	if err != nil {
		return verdict{}, err
	}
	w.decision.Code = code
	return run(ctx, code, c.encoded)
}

func run(ctx context.Context, code string, on agentbound.Value) (verdict, error) {
	kit, err := star.LoadKit([]agentbound.Source{{Name: "guard.star", Text: code + "\n\ntool(guard, \"decides on one call\")\n"}})
	if err != nil {
		return verdict{}, err
	}
	state, err := star.DecodeState(on)
	if err != nil {
		return verdict{}, fmt.Errorf("the case cannot be given to a program: %w", err)
	}
	r, err := kit.Look(ctx, state, agentbound.Call{Tool: "guard"})
	if err != nil {
		return verdict{}, err
	}
	if !r.OK {
		var text string
		if err := json.Unmarshal(r.Observation, &text); err != nil {
			return verdict{}, err
		}
		return verdict{}, errors.New(text)
	}
	return decided(r.Observation)
}

// decided reads what guard gave. A key that is missing is no decision.
func decided(v agentbound.Value) (verdict, error) {
	var out struct {
		Allow  *bool   `json:"allow"`
		Reason *string `json:"reason"`
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil || out.Allow == nil || out.Reason == nil || strings.TrimSpace(*out.Reason) == "" {
		return verdict{}, fmt.Errorf("guard(case) must return {\"allow\": True or False, \"reason\": a sentence}, and gave %.300s", v)
	}
	return verdict{*out.Allow, strings.TrimSpace(*out.Reason)}, nil
}

// block is the one program of an answer: between fences, or the whole of it where there
// are none.
func block(answer string) (string, error) {
	parts := strings.Split("\n"+strings.ReplaceAll(answer, "\r\n", "\n"), "\n```")
	switch {
	case len(parts) == 1 && strings.Contains(answer, "def guard("):
		return strings.TrimSpace(answer) + "\n", nil
	case len(parts) != 3:
		return "", fmt.Errorf("the answer has %d blocks of code; want one, with the whole program", len(parts)/2)
	}
	_, code, _ := strings.Cut(parts[1], "\n") // after the language
	return strings.TrimSpace(code) + "\n", nil
}
