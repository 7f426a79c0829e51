package subject

import (
	"fmt"

	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/episode"
)

// system is what a program's model is told beside the instruction and the program's own
// prompt: who asks, and how to end, in the words that models without a program get.
// Whoever changes a word changes Version.
func system(b episode.Brief) string {
	return fmt.Sprintf(`%s

You work through the tools of the server "world"; there are no files and no shell to work with. Before each tool call, say in one or two sentences what you are about to do and why. A message without a tool call is your last one.

%s`, b.Setting, chat.OutcomeRule)
}
