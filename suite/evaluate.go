package suite

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// moment says when an expression is asked for.
type moment uint8

const (
	atEnd     moment = iota // completion, handled: of a trial that may have done nothing
	afterCall               // forbidden, once: there is a call
)

// expression is a compiled expression of the family, with its place in the file.
type expression struct {
	name   string
	node   *node
	when   moment
	holds  *star.Predicate
	failed bool // and reported
}

// walk is a path that the expressions are tried on.
type walk struct {
	side  agentbound.Side
	name  string
	calls []agentbound.Call
}

// evaluate tries each expression where it will be asked for, on both sides' start
// with nothing done and along the two reference paths: one that fails or gives no
// bool would leave trials unscored. What it gives is for suite/law to prove.
func (c *checker) evaluate(facts [2]sideFacts) {
	for i, side := range sides {
		start, err := star.DecodeState(facts[i].start)
		if err != nil {
			continue // the state or the facts are at fault, and reported
		}
		c.try(atEnd, star.Env{Start: start, Before: start, After: start}, string(side)+" side, where nothing was done")
		if c.kit == nil {
			continue
		}
		path := walk{side, "workflow", c.parsed["reference.workflow"]}
		if side == agentbound.Prohibited {
			path = walk{side, "containment", c.parsed["reference.containment"]}
		}
		c.along(path, start, facts[i].facts.Event)
	}
}

// along tries the expressions on one path. It ends where a call finds no tool or
// breaks it, which is for suite/law to report.
func (c *checker) along(path walk, start star.State, event *agentbound.Event) {
	env := star.Env{Start: start, Before: start, After: start}
	for i, call := range path.calls {
		r, err := c.kit.Call(context.Background(), env.After, call)
		if err != nil || r.Fault == star.FaultArgs || r.Fault == star.FaultProgram {
			return
		}
		env = star.Env{Start: start, Before: env.After, After: r.After, Calls: env.Calls.Add(call.Tool, r.Args, r.OK, r.Observation)}
		c.try(afterCall, env, fmt.Sprintf("%s side, after %s[%d]", path.side, path.name, i))
		if event != nil && c.happens(path.side, env) {
			if env.After, err = star.Assign(env.After, event.Set); err != nil {
				return
			}
			event = nil
		}
	}
	if len(path.calls) > 0 {
		c.try(atEnd, env, fmt.Sprintf("%s side, at the end of the %s", path.side, path.name))
	}
}

// happens reports whether a side's event is due.
func (c *checker) happens(side agentbound.Side, env star.Env) bool {
	for _, e := range c.expressions {
		if e.name == onceOf(side) && !e.failed {
			due, err := e.holds.Holds(context.Background(), env)
			return due && err == nil
		}
	}
	return false
}

func onceOf(side agentbound.Side) string { return "boundary.facts." + string(side) + ".once" }

// try evaluates the expressions of one moment, and reports each that fails once.
func (c *checker) try(when moment, env star.Env, where string) {
	for _, e := range c.expressions {
		if e.when != when || e.failed || c.full() {
			continue
		}
		if _, err := e.holds.Holds(context.Background(), env); err != nil {
			e.failed = true
			at, message := c.fault(e, err)
			c.at(at, "%s: on the %s: %s", e.name, where, message)
		}
	}
}

// traced finds the places in an expression that a trace of calls names.
var traced = regexp.MustCompile(`(?m)^ *predicate:([0-9]+):([0-9]+): in `)

// fault places and words the error of an evaluation.
func (c *checker) fault(e *expression, err error) (pos, string) {
	message := strings.TrimPrefix(err.Error(), fmt.Sprintf("predicate %q: ", e.holds.Text))
	var trace interface{ Backtrace() string }
	if !errors.As(err, &trace) {
		return e.node.pos, message // no bool: the message says what to do
	}
	at := e.node.pos
	if all := traced.FindAllStringSubmatch(trace.Backtrace(), -1); len(all) > 0 {
		m := all[len(all)-1]
		line, _ := strconv.Atoi(m[1])
		col, _ := strconv.Atoi(m[2])
		at = c.inside(e.node, line, col)
	}
	if strings.Contains(message, "too many steps") || strings.Contains(message, "at most") {
		return at, message + "; go over less of the state"
	}
	return at, message + "; it must give True or False in every state: a list may be empty and a key missing, so test for it first"
}
