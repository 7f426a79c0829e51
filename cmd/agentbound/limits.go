package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/agent/preset"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/budget"
	"github.com/agentbound/agentbound/model/pace"
	"github.com/agentbound/agentbound/model/price"
)

// presetsEnv and pricesEnv name a user's files where the flags do not.
const (
	presetsEnv = "AGENTBOUND_PRESETS"
	pricesEnv  = "AGENTBOUND_PRICES"
)

// Limits are what the models of a command may be asked for, all together, and the data
// that this stands on: flags, and keys of a plan file.
type Limits struct {
	RPM        int    `yaml:"rpm"`                  // requests a minute to one endpoint; 0: no bound
	TPM        int    `yaml:"tpm"`                  // tokens a minute
	Concurrent int    `yaml:"endpoint_concurrency"` // requests at a time at most; 0: pace.DefaultConcurrent
	Budget     string `yaml:"budget"`               // of this command; empty: no bound
	RunTimeout string `yaml:"run_timeout"`          // wall clock of each run in this command
	Prices     string `yaml:"prices"`               // a user's file
	Presets    string `yaml:"presets"`
}

func addLimits(cmd *cobra.Command, l *Limits) {
	f := cmd.Flags()
	f.IntVar(&l.RPM, "rpm", 0, "requests a minute to one endpoint; 0: as many as it takes")
	f.IntVar(&l.TPM, "tpm", 0, "tokens a minute, of input and output, to one endpoint; 0: as many as it takes")
	f.IntVar(&l.Concurrent, "endpoint-concurrency", 0, fmt.Sprintf("most requests at a time to one endpoint; how many it takes is found out below that; 0: %d", pace.DefaultConcurrent))
	f.StringVar(&l.Budget, "budget", "", "what the models may cost in this command, such as usd=5, tokens=2M or both; it stops before that is passed")
	addPrices(cmd, &l.Prices)
	addPresets(cmd, &l.Presets)
}

func addPrices(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "prices", "", "YAML file with prices of your own (or $"+pricesEnv+"); they outrank the built-in ones")
}

func addPresets(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "presets", "", "YAML file with presets of your own (or $"+presetsEnv+"); they outrank the built-in ones")
}

// spending is what all models of a command share.
type spending struct {
	pace            *pace.Endpoints
	budget          *budget.Budget // nil: no bound
	prices, presets string         // files; empty: none
}

func newSpending() *spending {
	return &spending{pace: &pace.Endpoints{}, prices: os.Getenv(pricesEnv), presets: os.Getenv(presetsEnv)}
}

// rooms are those of a command with limits.
func (l Limits) rooms() (rooms, error) {
	r := newRooms()
	if l.RPM < 0 || l.TPM < 0 || l.Concurrent < 0 {
		return r, usage("--rpm, --tpm and --endpoint-concurrency cannot be negative")
	}
	r.pace.Limits = pace.Limits{Requests: l.RPM, Tokens: l.TPM, Concurrent: l.Concurrent}
	if l.Budget != "" {
		amount, err := budget.Parse(l.Budget)
		if err != nil {
			return r, usage("--%w", err)
		}
		r.budget = budget.New(amount)
	}
	if l.Prices != "" {
		r.prices = l.Prices
	}
	if l.Presets != "" {
		r.presets = l.Presets
	}
	if _, err := r.priceTable(); err != nil {
		return r, err
	}
	_, err := r.catalogue()
	return r, err
}

// runTime is the wall clock of each run; 0: no bound.
func (l Limits) runTime() (time.Duration, error) {
	if l.RunTimeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(l.RunTimeout)
	if err != nil || d < time.Second {
		return 0, usage("--run-timeout %q: want a duration of at least 1s, such as 30m or 8h", l.RunTimeout)
	}
	return d, nil
}

// priceTable is what is known of prices.
func (s *spending) priceTable() (price.Table, error) {
	if s.prices == "" {
		return price.Default(), nil
	}
	t, err := price.Read(s.prices)
	if err != nil {
		return nil, usage("prices: %w", err)
	}
	return t, nil
}

// catalogue is the presets there are.
func (s *spending) catalogue() (preset.Catalogue, error) {
	if s.presets == "" {
		return preset.Default(), nil
	}
	c, err := preset.Read(s.presets)
	if err != nil {
		return nil, usage("presets: %w", err)
	}
	return c, nil
}

// paceOf holds a model's attempts within its endpoint's limits and the command's budget.
// An account's limits are told by its key; the key goes no further from here.
func (s *spending) paceOf(spec string, by protocol, o modelOptions) (model.Pace, error) {
	base := by.home
	if _, named, ok := strings.Cut(spec, "@http"); ok {
		base = "http" + named
	}
	return s.paceAt(base, o.key, model.Ref{Name: spec}, o.part == model.PartJudge)
}

// paceAt is paceOf for a base URL. A model that is unbounded is asked by somebody who
// does not heed --max-tokens.
func (s *spending) paceAt(base, key string, of model.Ref, unbounded bool) (model.Pace, error) {
	parts := strings.SplitN(base, "/", 4) // http:, nothing, the host, a path
	address := strings.Join(parts[:min(len(parts), 3)], "/")
	endpoint := s.pace.At(address, key)
	if s.budget == nil {
		return endpoint, nil
	}
	table, err := s.priceTable()
	if err != nil {
		return nil, err
	}
	spec := of.Name
	p, _ := table.Find(spec, of.Settings)
	if unbounded && least(p.MaxOutput, p.Window) == 0 {
		return nil, fmt.Errorf("a budget needs a bound on what an answer of model %q may have: give max_output in a file of --prices", model.BaseName(spec))
	}
	purse, err := s.budget.Pace(p, endpoint)
	if errors.Is(err, budget.ErrPrice) {
		return nil, fmt.Errorf("a budget in money cannot be kept for model %q: its price is not known; give it in a file (--prices), or a budget in tokens", model.BaseName(spec))
	}
	return purse, err
}

// ended is why the budget lets no more be spent; nil while it does.
func (s *spending) ended() error {
	if s.budget == nil {
		return nil
	}
	return s.budget.Ended()
}

// selfJudged is a warning where a judge is the model that it judges, however each is
// named; empty where it is not.
func (s *spending) selfJudged(subject, judge string) (string, error) {
	c, err := s.catalogue()
	if err != nil {
		return "", err
	}
	spec := func(name string) string {
		if p, err := c.Find(name); err == nil {
			return p.Spec
		}
		return name
	}
	if !model.SameModel(spec(subject), spec(judge)) {
		return "", nil
	}
	return fmt.Sprintf("warning: the judge %s is the model that it judges, %s: models tend to favour what they wrote themselves; have another model judge too", judge, subject), nil
}
