package generate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// Budget bounds what may be spent in a folder, all runs of the command together. Zero:
// no bound.
type Budget struct {
	Calls  int
	Tokens int64 // of prompts and answers
}

// Spent is what was spent, and what may have been.
type Spent struct {
	Calls  int   `json:"calls"`
	Tokens int64 `json:"tokens"`
}

// ledger keeps spending within the budget. Before a call the most that it can cost is
// set aside; afterwards what it did cost is settled.
type ledger struct {
	budget Budget

	mu      sync.Mutex
	spent   Spent
	aside   int64
	settled chan struct{} // closed and replaced at each settlement
}

func newLedger(b Budget, spent Spent) *ledger {
	return &ledger{budget: b, spent: spent, settled: make(chan struct{})}
}

// reserve counts a call and sets tokens aside. It waits while only calls in flight stand
// in the way, and gives errBudget where the budget does.
func (l *ledger) reserve(ctx context.Context, tokens int64) error {
	for {
		wait, err := l.try(tokens)
		if wait == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait:
		}
	}
}

func (l *ledger) try(tokens int64) (wait chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch b := l.budget; {
	case b.Calls > 0 && l.spent.Calls+1 > b.Calls:
		return nil, errBudget
	case b.Tokens > 0 && tokens > b.Tokens-l.spent.Tokens: // a sum could pass the largest number
		return nil, errBudget
	case b.Tokens > 0 && tokens > b.Tokens-l.spent.Tokens-l.aside:
		return l.settled, nil
	}
	l.spent.Calls++
	l.aside += tokens
	return nil, nil
}

// settle puts what a call cost in the place of what was set aside for it.
func (l *ledger) settle(aside, cost int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aside -= aside
	l.spent.Tokens += cost
	close(l.settled)
	l.settled = make(chan struct{})
}

// uncount takes back a call that was not made.
func (l *ledger) uncount() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent.Calls--
}

func (l *ledger) total() Spent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// spentIn adds up what the rounds of a folder cost.
func spentIn(dir string) (Spent, error) {
	var s Spent
	rounds, err := filepath.Glob(filepath.Join(globbed(dir), attemptsDir, "*", "*"))
	if err != nil {
		return s, err
	}
	for _, r := range rounds {
		f := folder(r)
		asked, err := f.asked()
		if err != nil {
			return s, err
		}
		a, err := f.meta()
		switch {
		case errors.Is(err, os.ErrNotExist):
			s.Tokens += int64(asked.Times) * asked.Tokens
		case err != nil:
			return s, err
		default:
			s.Tokens += int64(max(0, asked.Times-1))*asked.Tokens + a.Usage.Input + a.Usage.Output
		}
		s.Calls += asked.Times
	}
	return s, nil
}

// globbed escapes what a pattern would take for a wildcard.
func globbed(dir string) string {
	var out []rune
	for _, c := range dir {
		if c == '*' || c == '?' || c == '[' || c == '\\' && filepath.Separator != '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return string(out)
}
