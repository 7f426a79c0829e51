package confine

import (
	"fmt"
	"strings"
	"sync"
)

// Availability is what can be had of a level on this machine.
type Availability struct {
	Level Level
	OK    bool
	Why   string // why not
}

// Available tells of every level, the weakest first, whether it can be had here. It
// tries each once, with a program that does nothing, and remembers.
func Available() []Availability { return available() }

var available = sync.OnceValue(func() []Availability {
	var all []Availability
	for _, level := range Levels() {
		a := Availability{Level: level, OK: true}
		if err := probe(level); err != nil {
			a.OK, a.Why = false, err.Error()
		}
		all = append(all, a)
	}
	return all
})

// Best is the highest level that can be had here.
func Best() (Level, error) {
	var best Level
	var why []string
	for _, a := range Available() {
		if a.OK {
			best = a.Level
		} else {
			why = append(why, fmt.Sprintf("%s: %s", a.Level, a.Why))
		}
	}
	if best == "" {
		return "", fmt.Errorf("no program can be run confined here: %s", strings.Join(why, "; "))
	}
	return best, nil
}

// Require refuses where nothing as strong as level can be had here, and says why. Use
// it before a run begins; Command refuses a level it cannot give in any case.
func Require(level Level) error {
	if err := level.Validate(); err != nil {
		return err
	}
	var why []string
	for _, a := range Available() {
		switch {
		case !a.Level.AtLeast(level):
		case a.OK:
			return nil
		default:
			why = append(why, fmt.Sprintf("%s: %s", a.Level, a.Why))
		}
	}
	return fmt.Errorf("confinement of level %s cannot be had here (%s); docs/confinement.md says what each level needs", level, strings.Join(why, "; "))
}

// choose gives the level to use for one that was asked for.
func choose(asked Level) (Level, error) {
	if asked == "" {
		return Best()
	}
	for _, a := range Available() {
		if a.Level == asked && !a.OK {
			return "", fmt.Errorf("confinement of level %s cannot be had here: %s", asked, a.Why)
		}
	}
	return asked, nil
}
