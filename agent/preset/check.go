package preset

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agentbound/agentbound/internal/datafile"
)

type document struct {
	Version int       `yaml:"version"`
	Presets Catalogue `yaml:"presets"`
}

func decode(name string, src []byte) (Catalogue, error) {
	var d document
	f, err := datafile.Decode(name, src, &d)
	if err != nil {
		return nil, err
	}
	return d.Presets, d.check(f)
}

func (d document) check(f *datafile.File) error {
	if d.Version != Version {
		return f.Errorf("$.version", "version is %d; accepted: %d", d.Version, Version)
	}
	seen := map[string]string{}
	for i, p := range d.Presets {
		at := fmt.Sprintf("$.presets[%d]", i)
		for _, w := range p.wrong() {
			if w.why != "" {
				return f.Errorf(at+"."+w.field, "presets[%d]: %s", i, w.why)
			}
		}
		if other, ok := seen[squeezed(p.Name)]; ok {
			return f.Errorf(at+".name", "presets[%d]: %q reads like %q; each name stands for one agent", i, p.Name, other)
		}
		seen[squeezed(p.Name)] = p.Name
	}
	return nil
}

type problem struct{ field, why string }

var (
	spec     = regexp.MustCompile(`^[a-z][a-z-]*:\S+$`)
	variable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	word     = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

const mostName = 80 // characters

// wrong says what is wrong with a preset, field by field; empty reasons are none.
func (p Preset) wrong() []problem {
	when := func(wrong bool, field, format string, args ...any) problem {
		if !wrong {
			return problem{}
		}
		return problem{field, fmt.Sprintf(format, args...)}
	}
	name := []rune(p.Name)
	temperature, err := strconv.ParseFloat(p.Temperature, 64)
	return []problem{
		when(squeezed(p.Name) == "" || len(name) > mostName || strings.ContainsRune(p.Name, ':') || slices.ContainsFunc(name, unicode.IsControl),
			"name", "name %q: want up to %d characters, some of them letters or digits, and no colon (that is how specifications are told from names)", p.Name, mostName),
		when(p.Kind != Model && p.Kind != Harness, "kind", "kind %q is not known; accepted: %s, %s", p.Kind, Model, Harness),
		when(!spec.MatchString(p.Spec), "spec", "spec: want SCHEME:MODEL as --agent takes it, such as openai:gpt-5.5 or compat:my-model@http://127.0.0.1:8000/v1"),
		when(p.Kind == Model && protocols[p.Scheme()] == "", "spec", "spec: the scheme %q is not known; accepted: %s", p.Scheme(), strings.Join(slices.Sorted(maps.Keys(protocols)), ", ")),
		when(p.Kind == Model && addressed[p.Scheme()] && !strings.Contains(p.Spec, "@http"), "spec", "spec: %s has no address of its own; want %[1]s:MODEL@BASE_URL, as in %[1]s:my-model@http://127.0.0.1:8000/v1", p.Scheme()),
		when(!plain(p.Address()) || !plain(p.Endpoint), "endpoint", "endpoint and the address in spec: want http:// or https://, and no user name, query or fragment; a key belongs in the environment"),
		when(p.Key != "" && !variable.MatchString(p.Key), "key", "key: want the name of an environment variable, such as COMPAT_API_KEY, and never the key"),
		when(p.Form != "" && p.Form != "native" && p.Form != "react", "form", "form %q is not known; accepted: native, react", p.Form),
		when(p.Effort != "" && !word.MatchString(p.Effort), "effort", "effort %q: want a word that the provider knows, such as low, medium or high", p.Effort),
		when(p.Temperature != "" && (err != nil || !(temperature >= 0 && temperature <= math.MaxFloat32)), "temperature", "temperature %q: want a number from 0", p.Temperature),
		when(p.MaxTokens < 0, "max_tokens", "max_tokens cannot be negative"),
	}
}

// plain reports whether an address holds nothing that could be secret; none is plain.
func plain(address string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}
