package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/chat"
	agentexec "github.com/agentbound/agentbound/agent/exec"
	"github.com/agentbound/agentbound/agent/mcpexec"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/model"
	programworld "github.com/agentbound/agentbound/world/program"
)

// rooms builds what verbs use, all on one cache of compiled families and one purse.
type rooms struct {
	cache *star.Cache
	*spending
	keep    *keep         // stands before every model; may be nil
	look    *lookout      // watches every model; may be nil
	least   confine.Level // at which agent programs are held, or above; empty: at any
	unasked bool          // nothing is asked: a key that is missing is no error
}

func newRooms() rooms { return rooms{cache: star.NewCache(0), spending: newSpending()} }

// execEnv names the variables that exec and mcp-exec agents are given beside the
// allow-list.
const execEnv = "AGENTBOUND_EXEC_ENV"

func execNames() []string {
	return strings.FieldsFunc(os.Getenv(execEnv), func(c rune) bool { return c == ',' || c == ' ' })
}

// asking is how model agents are asked.
type asking struct {
	form        string
	temperature string // empty: the provider's own
	maxTokens   int
	forkable    bool // keep what a provider wants back with a turn
	modelOptions
}

// agent resolves what --agent names.
func (r rooms) agent(spec string, ask asking) (a agent.Agent, err error) {
	kind, rest, named := strings.Cut(spec, ":")
	if !named {
		return r.presetAgent(spec, ask)
	}
	if _, ok := protocolOf(spec); ok { // its errors repeat no part of an address that could be secret
		if a, err = r.chatAgent(spec, ask); err != nil {
			return nil, coded{exitUsage, err}
		}
		return a, nil
	}
	if p, ok := programOf(spec); ok { // likewise
		if a, err = r.harnessAgent(p, spec, ask); err != nil {
			return nil, coded{exitUsage, err}
		}
		return a, nil
	}
	switch kind {
	case "exec", "mcp-exec":
		if err := r.unheld(spec); err != nil {
			return nil, err
		}
	}
	switch kind {
	case "reference":
		a, err = reference.New(rest, programworld.Worlds{Cache: r.cache})
	case "exec":
		a, err = agentexec.New(rest, agentexec.Options{Env: execNames()})
	case "mcp-exec":
		a, err = mcpexec.New(rest, mcpexec.Options{Env: execNames()})
	default:
		return nil, usage("agent %q is not known; accepted: a preset's name, reference:NAME, %s, exec:COMMAND, mcp-exec:COMMAND, or an agent program's (%s); see: agentbound agents", spec, modelForms(), programNames())
	}
	if err != nil {
		return nil, usage("agent %q: %w", spec, err)
	}
	return a, nil
}

// chatAgent makes an agent of a model.
func (r rooms) chatAgent(spec string, ask asking) (agent.Agent, error) {
	ask.part = model.PartSubject
	m, err := r.model(spec, ask.modelOptions)
	if err != nil {
		return nil, err
	}
	o := chat.Options{Form: chat.Form(ask.form), MaxTokens: ask.maxTokens}
	if ask.forkable {
		o.Keep = keepsState(environmentSecrets(os.Environ()))
	}
	if o.Form != chat.Native && o.Form != chat.ReAct && o.Form != "" {
		return nil, fmt.Errorf("--form %q is not known; accepted: %s, %s", ask.form, chat.Native, chat.ReAct)
	}
	if ask.temperature != "" {
		t, err := strconv.ParseFloat(ask.temperature, 64)
		if err != nil || !(t >= 0 && t <= math.MaxFloat32) { // also not a number
			return nil, fmt.Errorf("--temperature %q: want a number from 0", ask.temperature)
		}
		o.Temperature = &t
	}
	return chat.New(m, o), nil
}

// keepsState keeps what a provider wants back, but for what holds a secret: it could not be
// struck out, since it must go back as it came.
func keepsState(secrets []string) func([]byte) bool {
	return func(state []byte) bool {
		for _, secret := range secrets {
			if strings.Contains(string(state), secret) {
				return false
			}
		}
		return true
	}
}

// storeEnv names the store where --store does not.
const (
	storeEnv     = "AGENTBOUND_STORE"
	defaultStore = "agentbound.db"
)

// storePath is --store, or the environment's, or the file in the working directory.
func storePath(flag string) string {
	if flag != "" {
		return flag
	}
	if env := os.Getenv(storeEnv); env != "" {
		return env
	}
	return defaultStore
}

// openStore opens the store; a verb that only reads does not create it.
func openStore(ctx context.Context, path string, existing bool) (store.Store, error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{Existing: existing})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, coded{exitUsage, err}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	if r, ok := w.(*results); ok {
		w = r.Writer
	}
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// colour reports whether to colour what goes to w (https://no-color.org).
func colour(w io.Writer) bool { return terminal(w) && os.Getenv("NO_COLOR") == "" }
