package chat

import (
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/model"
)

// Asks is what a policy that was resumed would be asked for its decision.
func Asks(p agent.Policy) model.Request { return p.(*policy).request }
