package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/agentbound/agentbound/model"
)

// Engine is who writes families.
type Engine string

// The engines there are.
const (
	LM   Engine = "lm"   // a model behind an endpoint
	File Engine = "file" // a person, or any model, by file

	Pattern Engine = "pattern" // nobody: archetypes are expanded (Vary)
)

// Engines are the engines there are.
func Engines() []Engine { return []Engine{LM, File, Pattern} }

// Validate reports an unknown engine.
func (e Engine) Validate() error {
	names := make([]string, 0, len(Engines()))
	for _, known := range Engines() {
		if e == known {
			return nil
		}
		names = append(names, string(known))
	}
	return fmt.Errorf("engine %q is not known; accepted: %s", string(e), strings.Join(names, ", "))
}

// writer answers the prompt in a round's folder. errWaiting, errBudget and errHalted
// are no failures; any other error is infrastructure.
type writer interface {
	write(ctx context.Context, f folder) (Answer, error)
}

var (
	errWaiting = errors.New("waiting for an answer")
	errBudget  = errors.New("the budget is used up")
	errHalted  = errors.New("another candidate met a fault")
)

// byFile takes an answer that somebody put there.
type byFile struct{}

func (byFile) write(_ context.Context, f folder) (Answer, error) {
	text, err := f.read(answerFile)
	if err != nil {
		return Answer{}, err
	}
	if strings.TrimSpace(text) == "" {
		return Answer{}, errWaiting
	}
	return Answer{Text: text, Stop: model.StopEnd}, nil
}

// byModel asks a model. The prompt goes out as it stands in the folder, as one message.
type byModel struct {
	model       model.Model
	temperature *float64
	maxTokens   int
	ledger      *ledger
}

func (w byModel) write(ctx context.Context, f folder) (Answer, error) {
	if f.has(answerFile) { // it was paid for, and its round was not finished
		return w.kept(f)
	}
	text, err := f.read(promptFile)
	if err != nil {
		return Answer{}, err
	}
	asked, err := f.asked()
	if err != nil {
		return Answer{}, err
	}
	asked.Times, asked.Tokens = asked.Times+1, estimate(text)+int64(w.maxTokens)
	if err := w.ledger.reserve(ctx, asked.Tokens); err != nil {
		return Answer{}, err
	}
	if err := f.writeJSON(askedFile, asked); err != nil {
		return Answer{}, err
	}
	res, err := w.model.Chat(ctx, model.Request{
		Messages: []model.Message{{Role: model.User, Text: text}}, Temperature: w.temperature, MaxTokens: w.maxTokens,
	})
	if err != nil {
		return Answer{}, w.failed(f, asked, err)
	}
	a := Answer{Text: res.Message.Text, Stop: res.Stop, Refusal: res.Refusal, Model: res.Model, Usage: Usage{res.Usage.Input, res.Usage.Output}}
	if a.Usage.Input+a.Usage.Output == 0 || !a.Usage.plausible() { // the server does not tell, or not the truth
		a.Usage = Usage{estimate(text), estimate(a.Text)}
	}
	w.ledger.settle(asked.Tokens, a.Usage.Input+a.Usage.Output)
	if err := f.writeJSON(metaFile, a); err != nil {
		return Answer{}, err
	}
	return a, f.write(answerFile, a.Text)
}

func (w byModel) kept(f folder) (Answer, error) {
	a, err := f.meta()
	if errors.Is(err, os.ErrNotExist) {
		a.Stop = model.StopEnd
	} else if err != nil {
		return a, err
	}
	text, err := f.read(answerFile)
	a.Text = text
	return a, err
}

// failed gives back what was set aside for a call that cannot have been paid.
func (w byModel) failed(f folder, asked Asked, cause error) error {
	if e, ok := errors.AsType[*model.Error](cause); ok && !maybePaid(e.Fault) {
		w.ledger.settle(asked.Tokens, 0)
		w.ledger.uncount()
		asked.Times--
		return errors.Join(cause, f.writeJSON(askedFile, asked))
	}
	w.ledger.settle(asked.Tokens, asked.Tokens)
	return cause
}

// maybePaid: the server may have made an answer that did not arrive.
func maybePaid(f model.Fault) bool {
	return f == model.FaultConnection || f == model.FaultTimeout || f == model.FaultAnswer || f == model.FaultServer
}

// estimate is more tokens than a text of ours has: its bytes by two. Measured ratios of
// English with code lie at three to four bytes a token.
func estimate(text string) int64 { return int64(len(text)+1) / 2 }
