package gemini

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/genai"
)

// Efforts are the words for how much to think. "auto" leaves the amount to the model and
// shows what it thinks. Models up to Gemini 2.5 have a budget of tokens, which may also be
// given as a number; "none" is a budget of 0, which some of them reject. Later ones have
// levels, and cannot be told not to think.
var Efforts = []string{"auto", "minimal", "low", "medium", "high"}

// budgets are what the words come to where thinking has a budget, in tokens.
var budgets = map[string]int32{"none": 0, "auto": -1, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576}

const mostBudget = 32768

// budgeted are models that think by a budget: those before Gemini 3.
var budgeted = regexp.MustCompile(`^(?:models/)?gemini-[12]\b`)

// thinkingOf reads an effort for a model; nil where none is given. Models that are not
// known are taken for newer ones.
func thinkingOf(name, effort string) (*genai.ThinkingConfig, error) {
	if effort == "" {
		return nil, nil
	}
	if !budgeted.MatchString(name) {
		for _, word := range Efforts {
			if effort == word {
				return &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(strings.TrimPrefix(effort, "auto")))}, nil
			}
		}
		return nil, fmt.Errorf("effort %q is not known; accepted: %s", effort, strings.Join(Efforts, ", "))
	}
	budget, ok := budgets[effort]
	if n, err := strconv.ParseInt(effort, 10, 32); !ok && err == nil && n >= 0 && n <= mostBudget {
		budget, ok = int32(n), true
	}
	if !ok {
		return nil, fmt.Errorf("effort %q is not known for this model; accepted: none, %s, or a budget of 0 to %d tokens", effort, strings.Join(Efforts, ", "), mostBudget)
	}
	return &genai.ThinkingConfig{IncludeThoughts: budget != 0, ThinkingBudget: &budget}, nil
}
