package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"time"

	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/install"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/anthropic"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/gemini"
	"github.com/agentbound/agentbound/model/openai"
)

// harnessKeyEnv is the variable that holds the key of an agent program's endpoint: its
// maker's own, or that of servers that a specification names.
func harnessKeyEnv(p harness.Program, s harness.Spec) string {
	if s.Base == "" || s.Base == p.Endpoint {
		return p.KeyEnv
	}
	return compat.KeyEnv
}

// harnessAgent makes an agent of an installed program. Form, temperature and most tokens
// are the program's own to decide, and those of ask are for models.
func (r rooms) harnessAgent(p harness.Program, spec string, ask asking) (agent.Agent, error) {
	s, err := harness.ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	if r.keep.holds() {
		return nil, fmt.Errorf("agent %s:%s: --record, --replay and --cache do not reach what an agent program asks its model; leave them out", p.Name, s.Model)
	}
	key := os.Getenv(harnessKeyEnv(p, s))
	if err := keyIsTaken(harnessKeyEnv(p, s), key); err != nil {
		return nil, fmt.Errorf("agent %s:%s: %w", p.Name, s.Model, err)
	}
	store, err := programStore()
	if err != nil {
		return nil, err
	}
	found, err := store.Find(p)
	if err != nil {
		return nil, err
	}
	if key == "" && s.Base == "" {
		return nil, fmt.Errorf("agent %s:%s: no key: set %s", p.Name, s.Model, p.KeyEnv)
	}
	base := cmp.Or(s.Base, p.Endpoint)
	around := surroundings{least: r.least, perCall: ask.perCall, watch: r.look.witness(p.Name + ":" + s.Model)}
	// What a program asks for is its own to decide: a budget needs to know how long an
	// answer may be.
	if around.pace, err = r.paceAt(base, key, model.Ref{Name: p.Name + ":" + s.Model, Settings: map[string]string{"model": s.Model, "base_url": base}}, true); err != nil {
		return nil, err
	}
	return subject.New(p, around.parts(), subject.Options{
		Model: s.Model, Base: s.Base, Key: key, Effort: ask.effort, Start: found.Start, ReadOnly: []string{found.Folder},
	})
}

// keyIsTaken refuses a key that no trial could be made with.
func keyIsTaken(env, key string) error {
	switch {
	case key != "" && len(key) < wire.ShortestKey:
		return fmt.Errorf("the key in %s has fewer than %d characters and could not be told from text, to keep it from the program: unset it where the server asks for none, else give the server a longer one", env, wire.ShortestKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("the key in %s has spaces, line ends or other characters that no key has: set it anew", env)
	}
	return nil
}

// holds reports whether anything is kept, or answered from what was.
func (k *keep) holds() bool {
	return k != nil && (k.recorder != nil || k.recording != nil || k.cache != nil)
}

// startTime is how long an agent program may take to tell its version.
const startTime = time.Minute

// checkHarness says what of an agent program is missing; where nothing is, it is started
// to tell its version, and the model that it would ask is asked.
func (r rooms) checkHarness(ctx context.Context, row agentRow) checked {
	c := checked{Key: "not needed", Endpoint: "not asked"}
	p, ok := programOf(row.Spec)
	if !ok {
		c.Why = fmt.Sprintf("there is no agent program %q; accepted: %s", row.Protocol, programNames())
		return c
	}
	s, err := harness.ParseSpec(row.Spec)
	if err != nil {
		c.Why = err.Error()
		return c
	}
	var missing []string
	env := cmp.Or(r.keyOf(row), harnessKeyEnv(p, s))
	if os.Getenv(env) != "" {
		c.Key = "set"
		if err := keyIsTaken(env, os.Getenv(env)); err != nil {
			missing = append(missing, err.Error())
		}
	} else if s.Base == "" {
		c.Key = "missing"
		missing = append(missing, "no key: set "+env)
	}
	store, err := programStore()
	if err != nil {
		c.Why = err.Error()
		return c
	}
	found, err := store.Find(p)
	if err != nil {
		missing = append(missing, err.Error())
		if _, npm := osexec.LookPath("npm"); npm != nil && errors.Is(err, install.ErrMissing) {
			missing = append(missing, "no npm on PATH, which installs it: install Node.js with npm")
		}
	}
	if len(missing) > 0 {
		c.Why = strings.Join(missing, "; ")
		return c
	}
	if c.Program, err = r.askVersion(ctx, found, p.Memory); err != nil {
		c.Why = fmt.Sprintf("%s is installed and does not start: %v; if its files were changed: remove %s, then: agentbound harness install %s", p, err, found.Folder, p.Name)
		return c
	}
	r.askBehind(ctx, p, s, env, &c)
	return c
}

// askBehind asks the model behind an agent program, as the program would: in its protocol,
// at the path that it asks, with the key in env.
func (r rooms) askBehind(ctx context.Context, p harness.Program, s harness.Spec, env string, c *checked) {
	base := cmp.Or(s.Base, p.Endpoint)
	scheme := ""
	switch p.Protocol {
	case harness.Responses:
		scheme = openai.Scheme
	case harness.ChatCompletions:
		scheme = compat.Scheme
	case harness.Messages:
		scheme, base = anthropic.Scheme, base+"/v1" // which programs add, and our adapter takes off
	case harness.GenerateContent:
		scheme, base = gemini.Scheme, base+"/v1beta"
	}
	spec := scheme + ":" + s.Model + "@" + base
	by, ok := protocolOf(spec)
	if !ok {
		c.Why = fmt.Sprintf("it is installed; its model was not asked, since nothing here speaks %s", p.Protocol)
		return
	}
	by.keyEnv = env
	m, err := r.ask(by, spec, modelOptions{perCall: checkTime, once: true})
	if err != nil {
		c.Why = err.Error()
		return
	}
	c.ask(ctx, m, true)
	if !c.Answers {
		c.Why = fmt.Sprintf("%s speaks %s with its model; %s", p.Name, p.Protocol, c.Why)
	}
}

// askVersion starts a program as trials do, with nothing of the user's.
func (r rooms) askVersion(ctx context.Context, found install.Program, memory int64) (string, error) {
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	cell, err := confined{least: r.least}.Cell(ctx, subject.Needs{ReadOnly: []string{found.Folder}, Memory: memory})
	if err != nil {
		return "", err
	}
	exit, err := cell.Run(subject.Command{
		Argv: append(found.Start[:len(found.Start):len(found.Start)], "--version"), Dir: cell.Home(),
		Env: append(subject.Environment(cell.Home(), found.Start), "TMPDIR="+cell.Home()),
	})
	if err := errors.Join(err, cell.Close()); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("no answer within %s", startTime)
	}
	lines := strings.Split(strings.TrimSpace(string(exit.Stdout)), "\n")
	if exit.Code != 0 || lines[len(lines)-1] == "" {
		said := strings.TrimSpace(strings.ToValidUTF8(string(exit.Stderr), ""))
		return "", fmt.Errorf("it ended with status %d: %s", exit.Code, plainLine(clipped(said)))
	}
	return lines[len(lines)-1], nil
}
