package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
)

const settingsFile = "generate.json"

// settings keeps what decides the draws and answers in the folder, and refuses another
// command there: its rounds would not belong together.
func (r *runner) settings() error {
	name := filepath.Join(r.o.Dir, settingsFile)
	now := r.settled()
	b, err := readRegular(name, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		if err := r.begin(name, now); err != nil {
			return err
		}
		return r.header()
	}
	if err != nil {
		return err
	}
	kept := map[string]string{}
	if err := decodeJSON(b, &kept); err != nil {
		return usage("%s: %w; the file was damaged: restore it, or choose another folder", name, err)
	}
	var other []string
	for _, k := range slices.Sorted(maps.Keys(now)) {
		if kept[k] != now[k] {
			other = append(other, fmt.Sprintf("%s was %q and is %q", strings.ReplaceAll(k, "_", " "), kept[k], now[k]))
		}
	}
	if len(other) > 0 {
		return usage("%s holds another generation (%s); go on with the same command, or choose another folder", r.o.Dir, strings.Join(other, "; "))
	}
	return r.header()
}

// UsageError is a command that cannot be carried out as it stands, or that does not
// belong to its folder.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }
func (e *UsageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

func busy(path string) error {
	return usage("%s is in use by another agentbound generate; wait for it, or stop it", filepath.Dir(path))
}

func (r *runner) settled() map[string]string {
	s := map[string]string{
		"version": strconv.Itoa(Version), "engine": string(r.o.Engine), "classes": joined(r.o.Classes), "seed": strconv.FormatUint(r.o.Seed, 10),
		"revisions": strconv.Itoa(r.o.Revisions), "resamples": strconv.Itoa(r.o.Resamples),
		"patterns": string(agentbound.DigestJSON(r.o.Patterns))[:12], "seeds": "none",
	}
	if len(r.o.Seeds) > 0 {
		// With seeds, resamples depend on how many candidates there are.
		s["seeds"], s["count"] = string(agentbound.DigestJSON(r.o.Seeds))[:12], strconv.Itoa(r.o.Count)
	}
	if r.o.Engine != LM {
		return s
	}
	s["model"], s["max_tokens"], s["temperature"] = r.o.Model.Ref().Name, strconv.Itoa(r.o.MaxTokens), "default"
	if r.o.Temperature != nil {
		s["temperature"] = strconv.FormatFloat(*r.o.Temperature, 'g', -1, 64)
	}
	return s
}

// begin starts a folder, which holds nothing of another's.
func (r *runner) begin(name string, settings map[string]string) error {
	entries, err := os.ReadDir(r.o.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			return usage("%s holds other files (%s); choose a new folder", r.o.Dir, e.Name())
		}
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(name, append(text, '\n'))
}

// header writes suite.yaml where it is not there.
func (r *runner) header() error {
	name := filepath.Join(r.o.Dir, suiteFile)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	return writeFile(name, []byte("format: 1\nname: generated\nversion: \"1\"\n"+
		"description: made by agentbound generate; how each family came to be stands in its provenance.json\n"))
}
