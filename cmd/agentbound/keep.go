package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	modelreplay "github.com/agentbound/agentbound/model/replay"
)

// keeping is what to keep of what models say, or to answer from, as flags.
type keeping struct{ record, replay, cache string }

func addRecording(cmd *cobra.Command, k *keeping) {
	f := cmd.Flags()
	f.StringVar(&k.record, "record", "", "file to add every exchange with a model to, secrets struck out")
	f.StringVar(&k.replay, "replay", "", "file of --record to answer from: no network, no key")
}

func addCache(cmd *cobra.Command, k *keeping) {
	cmd.Flags().StringVar(&k.cache, "cache", "", "folder of answers to give again to equal requests, never across repeats; off by default")
}

// keep stands before every model of a verb. A nil one keeps nothing.
type keep struct {
	recorder  *modelreplay.Recorder
	recording *modelreplay.Recording
	cache     *modelreplay.Cache
}

// open opens what the flags name; dry: nothing that would be written.
func (k keeping) open(io stdio, dry bool) (*keep, error) {
	switch {
	case k.replay != "" && k.record != "":
		return nil, usage("--record and --replay exclude each other: a replay is what was recorded")
	case k.replay != "" && k.cache != "":
		return nil, usage("--cache and --replay exclude each other: a replay answers from the recording alone")
	}
	o := modelreplay.Options{Secrets: environmentSecrets(os.Environ())}
	out := new(keep)
	var err error
	if k.replay != "" {
		if out.recording, err = modelreplay.Open(k.replay, o); err != nil {
			return nil, coded{exitUsage, err}
		}
		if out.recording.Cut() {
			fmt.Fprintf(io.err, "recording %s: its last line was cut and is left out\n", k.replay)
		}
	}
	if k.cache != "" && !dry {
		warn := func(text string) { fmt.Fprintln(io.err, text) }
		if out.cache, err = modelreplay.OpenCache(k.cache, false, warn, o); err != nil {
			return nil, coded{exitUsage, err}
		}
	}
	if k.record != "" && !dry {
		if out.recorder, err = modelreplay.Record(k.record, o); err != nil {
			return nil, coded{exitUsage, err}
		}
		if n := out.recorder.Dropped(); n > 0 {
			fmt.Fprintf(io.err, "recording %s: a last line that was cut (%d bytes) is dropped\n", k.record, n)
		}
	}
	return out, nil
}

// secretName is how variables are called that hold secrets.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|credential`)

// leastEnvironment is how long a value must be to be taken for a secret by its name
// alone: shorter ones are words and numbers.
const leastEnvironment = 16

// environmentSecrets are values that look like secrets by their names. They are struck
// beside the keys that are known, whatever variable an adapter reads.
func environmentSecrets(environ []string) (secrets []string) {
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); secretName.MatchString(name) && len(value) >= leastEnvironment {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// key is an environment variable's, to be struck from what is kept. A replay reads none
// and sends nothing: a stand-in lets adapters that insist on a key say who they are.
func (k *keep) key(variable string) string {
	if k == nil {
		return os.Getenv(variable)
	}
	if k.recording != nil {
		return "replayed"
	}
	key := os.Getenv(variable)
	if k.recorder != nil {
		k.recorder.Secret(key)
	}
	if k.cache != nil {
		k.cache.Secret(key)
	}
	return key
}

// wrap stands before a model: of a replay nothing but its name is used.
func (k *keep) wrap(m model.Model, part model.Part) model.Model {
	if k == nil {
		return m
	}
	if k.recording != nil {
		return k.recording.Wrap(m.Ref(), part)
	}
	if k.cache != nil {
		m = k.cache.Wrap(m)
	}
	return k.told(m, part)
}

// told stands before a model whose answers cost nothing, and can be mended: it is
// recorded and replayed like any, and not cached.
func (k *keep) told(m model.Model, part model.Part) model.Model {
	switch {
	case k == nil:
	case k.recording != nil:
		return k.recording.Wrap(m.Ref(), part)
	case k.recorder != nil:
		return k.recorder.Wrap(m, part)
	}
	return m
}

// replays reports whether a recording answers.
func (k *keep) replays() bool { return k != nil && k.recording != nil }

// records reports whether exchanges are added to a recording.
func (k *keep) records() bool { return k != nil && k.recorder != nil }

// taped reports whether what is run is recorded or replayed.
func (k *keep) taped() bool { return k != nil && (k.recorder != nil || k.recording != nil) }

// admits refuses agents that ask models on their own: a replay would run them afresh.
func (k *keep) admits(all []resolved) error {
	for _, r := range all {
		if a := r.plan.Agent; k.taped() && a.Kind != "model" && a.Kind != "reference" {
			return usage("agent %s asks its model itself, so that a replay would run it anew: --record and --replay take models and reference agents", a.Name)
		}
	}
	return nil
}

// run says which plan is carried out next.
func (k *keep) run(p agentbound.Plan) error {
	switch {
	case k == nil:
	case k.recorder != nil:
		return k.recorder.Run(p)
	case k.recording != nil:
		k.recording.Run(p)
	}
	return nil
}

// stored is run.Config's, of a recording.
func (k *keep) stored() func(agentbound.TrialKey) error {
	if k == nil || k.recorder == nil {
		return nil
	}
	return k.recorder.Stored
}

// more is run.Config's, of a replay.
func (k *keep) more() func(agentbound.TrialKey, string) bool {
	if k == nil || k.recording == nil {
		return nil
	}
	return k.recording.More
}

func (k *keep) close() error {
	var errs []error
	if k != nil && k.recorder != nil {
		errs = append(errs, k.recorder.Close())
	}
	if k != nil && k.recording != nil {
		errs = append(errs, k.recording.Close())
	}
	return errors.Join(errs...)
}
