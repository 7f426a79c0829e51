// Package preset names agents: what --agent takes for a name such as "Kimi K3". Presets
// are data. Those of the paper's Table 2 are embedded (presets.yaml); a user's file adds
// to them and outranks them. A preset decides nothing that its specification and settings
// do not say: the trials of "Kimi K3" are those of the specification that it stands for.
package preset

import (
	_ "embed" // the presets
	"slices"
	"strings"
	"sync"

	"github.com/agentbound/agentbound/internal/datafile"
)

// Version is the version of the file.
const Version = 1

// Kind is what a preset runs.
type Kind string

// A Model is asked turn by turn; a Harness is a program that asks one itself.
const (
	Model   Kind = "model"
	Harness Kind = "harness"
)

// Preset is an agent by name. What is empty is the provider's own.
type Preset struct {
	Name     string `yaml:"name"`
	Kind     Kind   `yaml:"kind"`
	Spec     string `yaml:"spec"`     // as --agent takes it: SCHEME:MODEL, with @BASE_URL where the scheme has no vendor
	Endpoint string `yaml:"endpoint"` // where it is asked, where Spec does not say; for readers
	Key      string `yaml:"key"`      // the environment variable that holds its key; empty: it needs none

	Form        string `yaml:"form"` // native or react
	Effort      string `yaml:"effort"`
	Temperature string `yaml:"temperature"`
	MaxTokens   int    `yaml:"max_tokens"` // of one turn

	Reasoning string `yaml:"reasoning"` // what is known of how it reasons, for readers
	Serve     string `yaml:"serve"`     // the command that serves it; empty: somebody does
	Note      string `yaml:"note"`
}

// Scheme is what the specification begins with.
func (p Preset) Scheme() string {
	scheme, _, _ := strings.Cut(p.Spec, ":")
	return scheme
}

// ModelID is the model's name as the endpoint knows it.
func (p Preset) ModelID() string {
	_, rest, _ := strings.Cut(p.Spec, ":")
	name, _, _ := strings.Cut(rest, "@http")
	return name
}

// Address is where it is asked.
func (p Preset) Address() string {
	if _, base, ok := strings.Cut(p.Spec, "@http"); ok {
		return "http" + base
	}
	return p.Endpoint
}

// Protocol is what the endpoint speaks.
func (p Preset) Protocol() string {
	if name, ok := protocols[p.Scheme()]; ok {
		return name
	}
	return p.Scheme()
}

const chat = "chat-completions"

// protocols are the schemes of models, and what each speaks.
var protocols = map[string]string{
	"openai": "responses", "openai-chat": chat, "xai": chat, "deepseek": chat, "moonshot": chat, "zhipu": chat, "openrouter": chat,
	"vllm": chat, "ollama": chat, "llamacpp": chat, "compat": chat, "anthropic": "messages", "gemini": "generate-content",
	"codex": "responses", "openclaw": chat, "deepseek-harness": chat, "qwen-code": chat, "opencode": chat, "claude-code": "messages", "gemini-cli": "generate-content", // agent programs
}

// addressed are the schemes that have no address of their own.
var addressed = map[string]bool{"vllm": true, "compat": true}

// Catalogue is presets in the order in which they are listed.
type Catalogue []Preset

//go:embed presets.yaml
var embedded []byte

// Default are the embedded presets.
func Default() Catalogue { return slices.Clone(builtIn()) }

var builtIn = sync.OnceValue(func() Catalogue {
	c, err := decode("presets.yaml", embedded)
	if err != nil {
		panic(err) // a test reads them
	}
	return c
})

// Read gives the embedded presets with those of a file: one of the same name takes its
// place, others follow.
func Read(file string) (Catalogue, error) {
	var own document
	f, err := datafile.Read(file, &own)
	if err != nil {
		return nil, err
	}
	if err := own.check(f); err != nil {
		return nil, err
	}
	all := Default()
	for _, p := range own.Presets {
		if i := slices.IndexFunc(all, func(q Preset) bool { return squeezed(q.Name) == squeezed(p.Name) }); i >= 0 {
			all[i] = p
			continue
		}
		all = append(all, p)
	}
	return all, nil
}
