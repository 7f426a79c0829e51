// Package judge is the port to what scores a trial. Every judge reads the task and
// the stored trajectory and nothing else, live or later.
package judge

import (
	"context"

	"github.com/agentbound/agentbound"
)

// Judge scores trials. It is safe for use by several goroutines.
type Judge interface {
	// Config names the judge and all that changes what it says; with the trial key
	// it is the verdict key.
	Config() string
	// Judge scores a trajectory of a task of the family. An error is infrastructure:
	// it leaves the trial unscored.
	Judge(ctx context.Context, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (agentbound.Verdict, error)
}
