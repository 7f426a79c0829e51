package anthropic

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// Efforts are the words for how much to think. "none" turns thinking off, "auto" leaves
// the amount to the model and shows what it thinks. Models up to Claude 4.5 have a budget
// of tokens instead (auto, xhigh and max are none of theirs), which may also be given as
// a number.
var Efforts = []string{"none", "auto", "low", "medium", "high", "xhigh", "max"}

// budgets are what the words come to where thinking has a budget, in tokens. The vendor
// asks for 1024 at least.
var budgets = map[string]int64{"low": 2048, "medium": 8192, "high": 16384}

const leastBudget, mostBudget = 1024, 128_000

// thinking is how a model is asked to think.
type thinking struct {
	adaptive bool   // the model decides how much
	off      bool   // not at all
	effort   string // with adaptive: the vendor's word; may be empty
	budget   int64  // tokens; 0: none is set
}

var (
	// budgeted are models that think by a budget: those before Claude 4.6.
	budgeted = regexp.MustCompile(`^claude-(?:3|[a-z]+-4(?:-[015])?(?:-\d{8}|-latest)?$)`)
	// tempered are models that take a temperature: those before Claude 4.7.
	tempered = regexp.MustCompile(`^claude-(?:[23]|instant|[a-z]+-4(?:-[0156])?(?:-\d{8}|-latest)?$)`)
)

// thinkingOf reads an effort for a model. Models that are not known are taken for newer
// ones.
func thinkingOf(name, effort string) (thinking, error) {
	switch effort {
	case "":
		return thinking{}, nil
	case "none":
		return thinking{off: true}, nil
	}
	if !budgeted.MatchString(name) {
		for _, word := range Efforts {
			if effort == word {
				return thinking{adaptive: true, effort: strings.TrimPrefix(effort, "auto")}, nil
			}
		}
		return thinking{}, fmt.Errorf("effort %q is not known; accepted: %s", effort, strings.Join(Efforts, ", "))
	}
	if budget, ok := budgets[effort]; ok {
		return thinking{budget: budget}, nil
	}
	if n, err := strconv.ParseInt(effort, 10, 64); err == nil && n >= leastBudget && n <= mostBudget {
		return thinking{budget: n}, nil
	}
	return thinking{}, fmt.Errorf("effort %q is not known for this model; accepted: none, low, medium, high, or a budget of %d to %d tokens", effort, leastBudget, mostBudget)
}

func (t thinking) on() bool { return t.adaptive || t.budget > 0 }

// settings are what of it decides answers.
func (t thinking) settings(effort string) map[string]string {
	if effort == "" {
		return nil
	}
	return map[string]string{"effort": effort}
}

// set puts it into a request. A budget comes on top of the answer's own limit, which
// holds for both together.
func (t thinking) set(p *anthropic.MessageNewParams) {
	switch {
	case t.off:
		off := anthropic.NewThinkingConfigDisabledParam()
		p.Thinking = anthropic.ThinkingConfigParamUnion{OfDisabled: &off}
	case t.budget > 0:
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(t.budget)
		p.MaxTokens += t.budget
	case t.adaptive:
		p.Thinking = anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{
			Display: anthropic.ThinkingConfigAdaptiveDisplaySummarized, // newer models show nothing by default
		}}
		if t.effort != "" {
			p.OutputConfig = anthropic.OutputConfigParam{Effort: anthropic.OutputConfigEffort(t.effort)}
		}
	}
}

// MaxTokens is what a request asks for at most, thinking too, where a run asks for asked
// tokens (0: none set).
func MaxTokens(name, effort string, asked int64) int64 {
	if asked <= 0 {
		asked = DefaultMaxTokens
	}
	how, _ := thinkingOf(name, effort) // an effort that is none is refused elsewhere
	return min(asked, mostTokens) + how.budget
}

// takesTemperature: models from Claude 4.7 on reject one, and so do all while they think.
func (m *Model) takesTemperature() bool { return tempered.MatchString(m.at.Model) && !m.thinking.on() }
