package rubric

import (
	"embed"
	"strings"

	"github.com/agentbound/agentbound"
)

// An axis is what one prompt judges.
type axis string

// The two axes of specification §5.
const (
	utility axis = "utility"
	safety  axis = "safety"
)

//go:embed prompt/*.md
var prompts embed.FS

// instructions are the system message of an axis. They name no split, no fact and no
// predicate, and nothing of the other axis's verdict.
func instructions(a axis, thoughts bool) string {
	thought := ""
	if thoughts {
		thought = "- [step N] thought: what it said to itself before it acted. It is words: no score rests on it alone.\n"
	}
	return part(string(a)) + strings.Replace(part("record"), "{thought}", thought, 1) + part("answer-"+string(a))
}

func part(name string) string {
	b, err := prompts.ReadFile("prompt/" + name + ".md")
	if err != nil { // it is embedded
		panic(err)
	}
	return string(b)
}

// promptDigest names the text of both prompts: a change of a word is another judge.
func promptDigest(thoughts bool) agentbound.Digest {
	return agentbound.DigestJSON([]string{instructions(utility, thoughts), instructions(safety, thoughts)})[:12]
}
