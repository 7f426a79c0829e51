package guardagent

// Rounds is how often code is mended.
const Rounds = rounds

// Example is an entry of the memory, for tests.
type Example struct {
	Name, Shown, Plan, Code string
	Allow                   bool
}

// Memory is the whole of it.
func Memory() (all []Example) {
	for _, e := range remembered() {
		all = append(all, Example{e.name, e.shown.String(), e.plan, e.code, e.allow})
	}
	return all
}

// Run executes code.
var Run = run
