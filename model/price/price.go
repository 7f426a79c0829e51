// Package price holds what models cost and how much they take, as dated data: what was
// looked up is embedded (prices.yaml), and a user's file outranks it. What is not known
// stays so: nothing here guesses, and an unknown price is never 0.
package price

import (
	_ "embed" // the prices
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agentbound/agentbound/internal/datafile"
	"github.com/agentbound/agentbound/model"
)

// Version is the version of the file.
const Version = 1

// Price is what a model costs somewhere. Prices are USD for a million tokens; nil: not
// known. Sizes are tokens; 0: not known.
type Price struct {
	Models []string `yaml:"models"` // names as [model.BaseName] makes them equal, or shell patterns
	At     []string `yaml:"at"`     // schemes of specifications, or hosts; empty: anywhere

	Input  *float64 `yaml:"input"`
	Cached *float64 `yaml:"cached"` // of input that the provider had seen before; nil: as Input
	Output *float64 `yaml:"output"` // reasoning too
	Long   *Long    `yaml:"long"`   // nil: one price for every length

	Window    int64 `yaml:"window"`     // of input and output together
	MaxOutput int64 `yaml:"max_output"` // of one answer, whatever is asked for

	AsOf   string `yaml:"as_of"`  // the day it was looked up, such as 2026-11-30
	Source string `yaml:"source"` // where
	Note   string `yaml:"note"`
}

// Long is what a request with more input than Above costs, as a whole.
type Long struct {
	Above  int64    `yaml:"above"`
	Input  *float64 `yaml:"input"`
	Cached *float64 `yaml:"cached"`
	Output *float64 `yaml:"output"`
}

// Known reports whether tokens can be turned into money.
func (p Price) Known() bool { return p.Input != nil && p.Output != nil }

// Request is what one request costs. It is 0 where the price is not known.
func (p Price) Request(u model.Usage) float64 {
	if p.Long != nil && u.Input > p.Long.Above {
		p.Input, p.Cached, p.Output = p.Long.Input, p.Long.Cached, p.Long.Output
	}
	return p.Sum(u)
}

// Sum is what many requests cost together, none of them long. It is 0 where the price is
// not known.
func (p Price) Sum(u model.Usage) float64 {
	if !p.Known() {
		return 0
	}
	cached := *p.Input
	if p.Cached != nil {
		cached = *p.Cached
	}
	seen := min(u.Cached, u.Input)
	return (float64(u.Input-seen)*(*p.Input) + float64(seen)*cached + float64(u.Output)*(*p.Output)) / 1e6
}

// Table is prices; where several fit a model, the first counts.
type Table []Price

//go:embed prices.yaml
var embedded []byte

// Default are the embedded prices.
func Default() Table { return append(Table(nil), builtIn()...) }

var builtIn = sync.OnceValue(func() Table {
	t, err := decode("prices.yaml", embedded)
	if err != nil {
		panic(err) // a test reads them
	}
	return t
})

// Read gives a user's prices with the embedded ones behind them.
func Read(file string) (Table, error) {
	var own document
	f, err := datafile.Read(file, &own)
	if err != nil {
		return nil, err
	}
	if err := own.check(f); err != nil {
		return nil, err
	}
	return append(own.Prices, builtIn()...), nil
}

type document struct {
	Version int   `yaml:"version"`
	Prices  Table `yaml:"prices"`
}

func decode(name string, src []byte) (Table, error) {
	var d document
	f, err := datafile.Decode(name, src, &d)
	if err != nil {
		return nil, err
	}
	return d.Prices, d.check(f)
}

func (d document) check(f *datafile.File) error {
	if d.Version != Version {
		return f.Errorf("$.version", "version is %d; accepted: %d", d.Version, Version)
	}
	for i, p := range d.Prices {
		if field, why := p.wrong(); why != "" {
			at := fmt.Sprintf("$.prices[%d]", i)
			if field != "" {
				at += "." + field
			}
			return f.Errorf(at, "prices[%d]: %s", i, why)
		}
	}
	return nil
}

// wrong says what is wrong with an entry, and in which field.
func (p Price) wrong() (field, why string) {
	if len(p.Models) == 0 {
		return "", "it names no model; add models: [NAME]"
	}
	for _, m := range p.Models {
		if _, err := path.Match(m, ""); err != nil || strings.TrimSpace(m) == "" {
			return "models", fmt.Sprintf("model %q is neither a name nor a pattern", m)
		}
	}
	amounts := []amount{{"input", p.Input}, {"cached", p.Cached}, {"output", p.Output}}
	if p.Long != nil {
		amounts = append(amounts, amount{"long.input", p.Long.Input}, amount{"long.cached", p.Long.Cached}, amount{"long.output", p.Long.Output})
		if p.Long.Above <= 0 || p.Long.Input == nil || p.Long.Output == nil {
			return "long", "long wants above (tokens), input and output"
		}
	}
	for _, a := range amounts {
		if a.usd != nil && !(*a.usd >= 0 && *a.usd <= mostUSD) {
			return a.field, fmt.Sprintf("%s is %v; want USD for a million tokens, from 0 to %d, or nothing where it is not known", a.field, *a.usd, mostUSD)
		}
	}
	for _, at := range p.At {
		if !placeShape.MatchString(at) {
			return "at", fmt.Sprintf("at %q is neither a scheme, such as openai, nor a host without port or path, such as api.openai.com", at)
		}
	}
	if p.Window < 0 || p.MaxOutput < 0 {
		return "window", "window and max_output are tokens, from 0"
	}
	return p.undated()
}

// mostUSD for a million tokens: sums over any run stay numbers.
const mostUSD = 1_000_000

// placeShape is a scheme, or a host: a name or an address.
var placeShape = regexp.MustCompile(`^[A-Za-z0-9._-]+$|^[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*$`)

type amount struct {
	field string
	usd   *float64
}

// undated: a price without a day and a source is hearsay.
func (p Price) undated() (field, why string) {
	if _, err := time.Parse(time.DateOnly, p.AsOf); err != nil {
		return "as_of", fmt.Sprintf("as_of is %q; want the day that it was looked up, such as 2026-11-30", p.AsOf)
	}
	if strings.TrimSpace(p.Source) == "" {
		return "source", "it has no source; say where the price stands"
	}
	if (p.Input == nil) != (p.Output == nil) {
		return "input", "input and output go together: give both, or neither where they are not known"
	}
	return "", ""
}

// Find gives the price of what a specification such as openai:gpt-5.5 names, asked where
// its settings say (model, base_url; see model.Ref). False: nothing is known of it.
func (t Table) Find(spec string, settings map[string]string) (Price, bool) {
	scheme, name, _ := strings.Cut(spec, ":")
	name, base, _ := strings.Cut(name, "@http")
	if base != "" {
		base = "http" + base
	}
	if s := settings["model"]; s != "" {
		name = s
	}
	if s := settings["base_url"]; s != "" {
		base = s
	}
	host := ""
	if u, err := url.Parse(base); err == nil {
		host = strings.ToLower(u.Hostname())
	}
	for _, p := range t {
		if p.at(strings.ToLower(scheme), host) && p.of(name) {
			return p, true
		}
	}
	return Price{}, false
}

// at reports whether the price holds there. A host outranks a scheme: a vendor's protocol
// at somebody else's address has somebody else's prices; what one serves oneself is
// everywhere.
func (p Price) at(scheme, host string) bool {
	if len(p.At) == 0 {
		return true
	}
	for _, place := range p.At {
		place = strings.ToLower(place)
		if place == host && host != "" || place == scheme && (host == "" || served[scheme]) {
			return true
		}
	}
	return false
}

// served are the schemes whose models run at the user's own address.
var served = map[string]bool{"vllm": true, "ollama": true, "llamacpp": true}

func (p Price) of(name string) bool {
	for _, m := range p.Models {
		if model.SameModel(m, name) {
			return true
		}
		if ok, err := path.Match(strings.ToLower(m), strings.ToLower(name)); ok && err == nil && strings.ContainsAny(m, "*?[") {
			return true
		}
	}
	return false
}
