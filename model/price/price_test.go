package price_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/price"
)

// TestDefault: the embedded prices are well formed, dated and sourced.
func TestDefault(t *testing.T) {
	known := 0
	for _, p := range price.Default() {
		if p.AsOf == "" || p.Source == "" || p.Known() && (*p.Input <= 0 || *p.Output <= 0) {
			t.Errorf("%+v", p)
		}
		if p.Known() {
			known++
		}
	}
	if known < 8 {
		t.Errorf("%d models have prices", known)
	}
}

func TestFind(t *testing.T) {
	table := price.Default()
	for _, test := range []struct {
		spec     string
		settings map[string]string
		input    float64 // 0: not known
		window   int64
	}{
		{"openai:gpt-5.5", nil, 5, 1050000},
		{"openai:gpt-5.5", map[string]string{"model": "gpt-5.5", "base_url": "https://api.openai.com/v1"}, 5, 1050000},
		{"openai:gpt-5.5", map[string]string{"model": "gpt-5.5", "base_url": "http://127.0.0.1:8000/v1"}, 0, 0},
		{"openai:gpt-5.5-2026-04-23", nil, 5, 1050000},
		{"openai:gpt-5.5-pro", nil, 0, 0},
		{"compat:gpt-5.5@https://api.openai.com/v1", nil, 5, 1050000},
		{"compat:gpt-5.5@http://127.0.0.1:8000/v1 (react)", map[string]string{"model": "gpt-5.5", "base_url": "http://127.0.0.1:8000/v1"}, 0, 0},
		{"openrouter:openai/gpt-5.5", nil, 0, 0},
		{"anthropic:claude-opus-4-8", nil, 5, 1000000},
		{"deepseek:deepseek-v4-pro", nil, 1.32, 1000000},
		{"vllm:HuggingFaceTB/SmolLM3-3B@http://127.0.0.1:8000/v1", nil, 0, 65536},
		{"compat:test-model@http://127.0.0.1:8000/v1", nil, 0, 0},
		{"reference:comply", nil, 0, 0},
	} {
		p, ok := table.Find(test.spec, test.settings)
		if p.Known() != (test.input > 0) || p.Known() && *p.Input != test.input || p.Window != test.window || ok != (test.window > 0) {
			t.Errorf("%s %v: %+v, %v", test.spec, test.settings, p, ok)
		}
	}
}

func TestCost(t *testing.T) {
	one, half, two, ten := 1.0, 0.5, 2.0, 10.0
	p := price.Price{Input: &one, Cached: &half, Output: &two, Long: &price.Long{Above: 100_000, Input: &two, Output: &ten}}
	for name, test := range map[string]struct {
		got, want float64
	}{
		"plain":            {p.Request(model.Usage{Input: 50_000, Output: 10_000}), 0.07},
		"cached":           {p.Request(model.Usage{Input: 50_000, Cached: 20_000, Output: 10_000}), 0.06},
		"long":             {p.Request(model.Usage{Input: 200_000, Cached: 100_000, Output: 10_000}), 0.5},
		"many":             {p.Sum(model.Usage{Input: 200_000, Output: 10_000}), 0.22},
		"more cached":      {p.Sum(model.Usage{Input: 10, Cached: 1_000_000}), 5e-6},
		"not known":        {price.Price{}.Request(model.Usage{Input: 1}), 0},
		"no cached price":  {price.Price{Input: &one, Output: &one}.Sum(model.Usage{Input: 100, Cached: 50}), 1e-4},
		"nothing was used": {p.Sum(model.Usage{}), 0},
	} {
		if math.Abs(test.got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

func TestRead(t *testing.T) {
	read := func(text string) (price.Table, error) {
		path := filepath.Join(t.TempDir(), "prices.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return price.Read(path)
	}
	own, err := read("version: 1\nprices:\n  - {models: ['test-*'], input: 2, output: 3.5, window: 8000, as_of: 2026-01-02, source: us}\n  - {models: [gpt-5.5], at: [openai], input: 1, output: 1, as_of: 2026-01-02, source: a contract}\n")
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := own.Find("compat:test-model@http://127.0.0.1:1/v1", nil); !p.Known() || *p.Output != 3.5 || p.AsOf != "2026-01-02" {
		t.Errorf("%+v", p)
	}
	if p, _ := own.Find("openai:gpt-5.5", nil); *p.Input != 1 {
		t.Errorf("the user's price is outranked: %+v", p)
	}
	if p, _ := own.Find("moonshot:kimi-k3", nil); !p.Known() {
		t.Error("the embedded prices are gone")
	}
	for text, want := range map[string]string{
		"version: 2\nprices: []\n": "prices.yaml:1: version is 2; accepted: 1",
		"version: 1\nprices:\n  - {input: 1, output: 1, as_of: 2026-01-02, source: us}\n":                                   "names no model",
		"version: 1\nprices:\n  - models: [m]\n    input: -1\n    output: 1\n    as_of: 2026-01-02\n    source: us\n":       "prices.yaml:4: prices[0]: input is -1",
		"version: 1\nprices:\n  - models: [m]\n    input: 1e7\n    output: 1\n    as_of: 2026-01-02\n    source: us\n":      "input is 1e+07; want USD for a million tokens, from 0 to 1000000",
		"version: 1\nprices:\n  - models: [m]\n    at: [openai, '127.0.0.1:8000']\n    as_of: 2026-01-02\n    source: us\n": "prices.yaml:4: prices[0]: at \"127.0.0.1:8000\" is neither",
		"version: 1\nprices:\n  - models: [m]\n    at: ['http://h/v1']\n    as_of: 2026-01-02\n    source: us\n":            "at \"http://h/v1\" is neither",
		"version: 1\nprices:\n  - models: [m]\n    input: .nan\n    output: 1\n    as_of: 2026-01-02\n    source: us\n":     "input is NaN",
		"version: 1\nprices:\n  - models: [m]\n    input: 1\n    output: 1\n    source: us\n":                               "as_of is \"\"",
		"version: 1\nprices:\n  - models: [m]\n    input: 1\n    output: 1\n    as_of: yesterday\n    source: us\n":         "prices.yaml:6: prices[0]: as_of is \"yesterday\"",
		"version: 1\nprices:\n  - models: [m]\n    input: 1\n    output: 1\n    as_of: 2026-01-02\n":                        "has no source",
		"version: 1\nprices:\n  - models: [m]\n    input: 1\n    as_of: 2026-01-02\n    source: us\n":                       "go together",
		"version: 1\nprices:\n  - models: ['[']\n    as_of: 2026-01-02\n    source: us\n":                                   "neither a name nor a pattern",
		"version: 1\nprices:\n  - models: [m]\n    price: 1\n":                                                              `prices.yaml:4: unknown field "price"`,
		"version: 1\nprices:\n  - models: [m]\n    long: {above: 0}\n    as_of: 2026-01-02\n    source: us\n":               "long wants above",
		"version: 1\nprices:\n  - models: [m]\n    window: -5\n    as_of: 2026-01-02\n    source: us\n":                     "from 0",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
	if _, err := price.Read("no such file"); err == nil {
		t.Error("no error")
	}
}

// FuzzRead: a file is prices or an error that names it.
func FuzzRead(f *testing.F) {
	f.Add("version: 1\nprices:\n  - {models: [m], input: 1, output: 2, as_of: 2026-01-02, source: us}\n")
	f.Add("version: 1\nprices: [{models: ['['], long: {above: -1}}]\n")
	path := filepath.Join(f.TempDir(), "prices.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := price.Read(path)
		if (table == nil) != (err != nil) || err != nil && !strings.Contains(err.Error(), "prices.yaml") {
			t.Errorf("%v, %v", table, err)
		}
		for _, p := range table {
			if p.Known() && p.Request(model.Usage{Input: 1 << 40, Output: 1}) < 0 {
				t.Errorf("a price below nothing: %+v", p)
			}
		}
	})
}
