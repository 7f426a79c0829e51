package model

import (
	"regexp"
	"strings"
)

// BaseName is a model's own name, whoever serves it and however it is asked: of
// openai:gpt-5.5, openrouter:openai/gpt-5.5 and compat:gpt-5.5-2026-04-23@http://… it
// is gpt-5-5. Case, vendor, date, variant of a relay and precision are left out, and
// dots and hyphens are one.
func BaseName(spec string) string {
	name := strings.ToLower(strings.TrimSpace(spec))
	name = address.ReplaceAllString(name, "")
	name = scheme.ReplaceAllString(name, "")
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Trim(separators.ReplaceAllString(name, "-"), "-")
	for {
		short := suffix.ReplaceAllString(name, "")
		if short == name || short == "" {
			return name
		}
		name = short
	}
}

var (
	address    = regexp.MustCompile(`@https?://.*$`)
	scheme     = regexp.MustCompile(`^[a-z][a-z-]*:`)
	separators = regexp.MustCompile(`[^a-z0-9]+`)
	// What a name may end in without being another model: a date, the newest of its
	// kind, a relay's variant, the precision of its weights.
	suffix = regexp.MustCompile(`-(?:20\d\d-?[01]\d-?[0-3]\d|latest|free|nitro|floor|online|fp8|fp16|bf16|int[48]|awq|gptq|nvfp4|gguf)$`)
)

// SameModel reports whether two names are of one model. It errs on the side of saying
// so: it is for warnings, such as that a judge scores itself.
func SameModel(a, b string) bool {
	x, y := BaseName(a), BaseName(b)
	return x != "" && x == y
}
