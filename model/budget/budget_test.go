package budget_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/budget"
	"github.com/agentbound/agentbound/model/pace"
	"github.com/agentbound/agentbound/model/price"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]budget.Amount{
		"usd=5": {USD: 5}, "5usd": {USD: 5}, "$2.50": {USD: 2.5}, "USD=0.5": {USD: 0.5}, "tokens=2M": {Tokens: 2_000_000}, "1.5ktokens": {Tokens: 1500},
		"usd=5,tokens=2M": {USD: 5, Tokens: 2_000_000}, "tokens = 100, usd = 1": {USD: 1, Tokens: 100}, "tokens=1e6": {Tokens: 1_000_000},
	} {
		if got, err := budget.Parse(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "5", "usd", "usd=", "usd=0", "usd=-1", "usd=inf", "usd=nan", "tokens=0", "tokens=1.5", "tokens=2T", "eur=5", "usd=5,usd=6", "usd=5,", "tokens=1e30"} {
		if got, err := budget.Parse(s); err == nil || !strings.Contains(err.Error(), "such as usd=5") {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"usd=5,tokens=2M", "$1", "3usd", "tokens=1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := budget.Parse(s); err == nil && (a.USD < 0 || a.Tokens < 0 || a == budget.Amount{}) {
			t.Errorf("%q: %+v", s, a)
		}
	})
}

func priced(t *testing.T) price.Price {
	t.Helper()
	p, ok := price.Default().Find("anthropic:claude-opus-4-8", nil) // 5 and 25 USD
	if !ok {
		t.Fatal("no price")
	}
	return p
}

// request has 1000 bytes and may be answered with 100 tokens.
func request() model.Request {
	r := model.Request{MaxTokens: 100, Messages: []model.Message{{Role: model.User}}}
	r.Messages[0].Text = strings.Repeat("x", 1000-r.Bytes())
	return r
}

func TestNeverPassed(t *testing.T) {
	for name, test := range map[string]struct {
		limit   budget.Amount
		usage   model.Usage
		least   int // calls that the budget has room for, whatever is on its way
		perCall budget.Amount
	}{
		"money":            {budget.Amount{USD: 0.1}, model.Usage{Input: 250, Output: 50}, 35, budget.Amount{USD: 0.0025, Tokens: 300}},
		"cached":           {budget.Amount{USD: 0.1}, model.Usage{Input: 250, Cached: 250, Output: 50}, 60, budget.Amount{USD: 0.001375, Tokens: 300}},
		"tokens":           {budget.Amount{Tokens: 10_000}, model.Usage{Input: 250, Output: 50}, 28, budget.Amount{USD: 0.0025, Tokens: 300}},
		"both":             {budget.Amount{USD: 1, Tokens: 5000}, model.Usage{Input: 250, Output: 50}, 12, budget.Amount{USD: 0.0025, Tokens: 300}},
		"as much as there": {budget.Amount{Tokens: 11_000}, model.Usage{Input: 1000, Output: 100}, 10, budget.Amount{Tokens: 1100}},
		"a part told":      {budget.Amount{Tokens: 11_000}, model.Usage{Output: 5}, 10, budget.Amount{Tokens: 1100}},
		"not told":         {budget.Amount{Tokens: 11_000}, model.Usage{}, 10, budget.Amount{Tokens: 1100}},
		"none fits":        {budget.Amount{Tokens: 1000}, model.Usage{Input: 1, Output: 1}, 0, budget.Amount{Tokens: 2}},
	} {
		for _, workers := range []int{1, 16} {
			t.Run(fmt.Sprint(name, " ", workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := budget.New(test.limit)
					p, err := b.Pace(priced(t), pace.New(pace.Limits{}, nil))
					if err != nil {
						t.Fatal(err)
					}
					var mu sync.Mutex
					calls := 0
					var all sync.WaitGroup
					for range workers {
						all.Go(func() {
							for {
								_, err := model.Retry{Pace: p}.Do(model.Weigh(t.Context(), request()), func(context.Context) (model.Response, error) {
									time.Sleep(time.Second)
									mu.Lock()
									defer mu.Unlock()
									calls++
									return model.Response{Usage: test.usage}, nil
								})
								if err != nil {
									if !errors.Is(err, b.Ended()) {
										t.Errorf("error %v, ended %v", err, b.Ended())
									}
									return
								}
							}
						})
					}
					all.Wait()
					spent := b.Spent()
					if test.limit.USD > 0 && spent.USD > test.limit.USD || test.limit.Tokens > 0 && spent.Tokens > test.limit.Tokens {
						t.Errorf("%+v spent of %+v", spent, test.limit)
					}
					if calls < test.least || spent.Tokens != int64(calls)*test.perCall.Tokens {
						t.Errorf("%d calls, at least %d fit; %+v spent", calls, test.least, spent)
					}
				})
			})
		}
	}
}

// TestMoreThanBytes: a server that counts more than a token a byte is believed from then
// on.
func TestMoreThanBytes(t *testing.T) {
	b := budget.New(budget.Amount{Tokens: 50_000})
	p, err := b.Pace(price.Price{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		_, err = model.Retry{Pace: p}.Do(model.Weigh(t.Context(), request()), func(context.Context) (model.Response, error) {
			return model.Response{Usage: model.Usage{Input: 4000, Output: 100}}, nil
		})
		if err != nil {
			break
		}
	}
	if spent := b.Spent().Tokens; err == nil || spent > 50_000 || spent < 45_000 {
		t.Errorf("%d spent, error %v", spent, err)
	}
}

// TestFailedAttempts: what was turned away costs nothing; what may have been worked on
// counts with the most that it can have cost.
func TestFailedAttempts(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, test := range map[string]struct {
		err  error
		cost int64
	}{
		"too many":       {&model.Error{Fault: model.FaultRate, Status: 429}, 0},
		"server error":   {&model.Error{Fault: model.FaultServer, Status: 500}, 0},
		"no key":         {&model.Error{Fault: model.FaultKey, Status: 401}, 0},
		"not reached":    {&model.Error{Fault: model.FaultConnection, Err: refused}, 0},
		"broken off":     {&model.Error{Fault: model.FaultConnection, Status: 200}, 1100},
		"too late":       {&model.Error{Fault: model.FaultTimeout}, 1100},
		"no answer":      {&model.Error{Fault: model.FaultAnswer, Status: 200}, 1100},
		"broken inside":  {&model.Error{Fault: model.FaultServer, Status: 529, Begun: true}, 1100},
		"filtered":       {&model.Error{Fault: model.FaultRequest, Status: 400, Begun: true}, 1100},
		"proxy down":     {&model.Error{Fault: model.FaultConnection, Err: &net.OpError{Op: "proxyconnect", Err: errors.New("connection refused")}}, 0},
		"the trial over": {context.Canceled, 1100},
	} {
		b := budget.New(budget.Amount{Tokens: 50_000})
		p, err := b.Pace(price.Price{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = model.Retry{Attempts: 1, Pace: p}.Do(model.Weigh(t.Context(), request()), func(context.Context) (model.Response, error) { return model.Response{}, test.err })
		if spent := b.Spent().Tokens; err == nil || spent != test.cost {
			t.Errorf("%s: %d spent, error %v", name, spent, err)
		}
	}
}

func TestUnbounded(t *testing.T) {
	if _, err := budget.New(budget.Amount{USD: 1}).Pace(price.Price{}, nil); !errors.Is(err, budget.ErrPrice) {
		t.Errorf("error %v", err)
	}
	b := budget.New(budget.Amount{Tokens: 50_000})
	p, err := b.Pace(price.Price{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := request()
	r.MaxTokens = 0
	_, err = model.Retry{Pace: p}.Do(model.Weigh(t.Context(), r), func(context.Context) (model.Response, error) { t.Error("asked"); return model.Response{}, nil })
	if err == nil || !strings.Contains(err.Error(), "--max-tokens") || !errors.Is(b.Ended(), err) {
		t.Errorf("error %v", err)
	}
}

// TestCovers: a budget that no call fits into is told before, and not called used up.
func TestCovers(t *testing.T) {
	b := budget.New(budget.Amount{Tokens: 1500})
	if err := b.Covers(price.Price{}, 1000, 500); err != nil {
		t.Error(err)
	}
	const want = "the budget of 1500 tokens does not cover one call, which may cost up to 1501 tokens (its answer may have 501 tokens)"
	if err := b.Covers(price.Price{}, 1000, 501); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	if err := b.Covers(price.Price{Window: 1400}, 1000, 0); err == nil {
		t.Error("an answer without a bound of its own may fill the window")
	}
	p, err := b.Pace(price.Price{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	big := request()
	big.MaxTokens = 2000
	if _, err := p.Enter(model.Weigh(t.Context(), big)); err == nil || !strings.Contains(err.Error(), "does not cover one call") {
		t.Errorf("error %v", err)
	}
}

// TestWaits: what is on its way may leave something over.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Amount{Tokens: 1500})
		p, err := b.Pace(price.Price{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx := model.Weigh(t.Context(), request())
		leave, err := p.Enter(ctx)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := p.Enter(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		go func() {
			time.Sleep(time.Minute)
			leave(model.Response{Usage: model.Usage{Input: 100, Output: 10}}, nil)
		}()
		leave, err = p.Enter(ctx)
		if err != nil || b.Spent().Tokens != 110 {
			t.Fatalf("%+v, error %v", b.Spent(), err)
		}
		leave(model.Response{}, nil)
		_, err = p.Enter(ctx)
		if err == nil || !strings.Contains(err.Error(), "budget of 1500 tokens is used up: 1210 tokens spent, and the next call may cost up to 1100 tokens") {
			t.Errorf("error %v", err)
		}
	})
}
