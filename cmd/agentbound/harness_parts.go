package main

import "github.com/agentbound/agentbound/harness/subject"

// harnessParts are what stands around an agent program in a trial.
func harnessParts() subject.Parts {
	return subject.Parts{Runner: subject.Bare{}}
}
