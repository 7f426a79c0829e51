package subject

import (
	"context"
	"net"

	"github.com/agentbound/agentbound/harness"
)

// Runner runs programs, each trial in a cell of its own.
type Runner interface {
	// Cell prepares a place for one program. When ctx ends, what runs there is ended.
	Cell(ctx context.Context, n Needs) (Cell, error)
}

// Needs are what a program needs of its cell.
type Needs struct {
	Listeners int      // on loopback, where the program can reach them
	ReadOnly  []string // folders that it reads, beside the system's
	Memory    int64    // bytes that it is known to need at most; 0: not known
}

// Cell is where one program runs. Its methods are called in this order, once each.
type Cell interface {
	// Home is the program's one writable folder, empty, under the path that it will
	// see. Its configuration is put there before Run.
	Home() string
	// Listeners are open, at the addresses that the program will see. Who gets them
	// closes them.
	Listeners() []net.Listener
	// Run runs the program to its end, until nothing of it is left. The error is one of
	// running it, or says which limit ended it.
	Run(c Command) (harness.Exit, error)
	// Held says in a few words by what the program was held.
	Held() string
	// Close takes the home away.
	Close() error
}

// Command is a program to run.
type Command struct {
	Argv []string // the first is an absolute path
	Env  []string // all of it
	Dir  string   // within the home
}
