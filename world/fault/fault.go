// Package fault makes tools fail by a script, in any world. The script is code's: no world
// is asked about a call that it lets fail, so that one a language model plays has no say.
package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/world"
)

// Any stands for all tools.
const Any = "*"

// Fault lets calls of a tool fail, counted from 1 within a trial: those that reach the
// world, whatever their arguments. Nothing is changed by them.
type Fault struct {
	Tool     string // or Any, which counts the calls of all tools
	From, To int    // the first and last one; To 0: all from the first on
	Says     string // the tool's words; empty: that it timed out
}

// Form is how a fault is written.
const Form = "TOOL:N, TOOL:N-M or TOOL:N- (or * for any tool), and =TEXT for what it says"

var written = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,63}|\*):(\d{1,6})(?:(-)(\d{1,6})?)?(?:=([\s\S]+))?$`)

// maxSays bounds what a fault says, in bytes.
const maxSays = 500

// Parse reads a fault: pay:2 (the second call of pay), pay:3- (from the third on), *:1-2,
// and pay:2=the service is down.
func Parse(s string) (Fault, error) {
	m := written.FindStringSubmatch(s)
	if m == nil || !utf8.ValidString(s) {
		return Fault{}, fmt.Errorf("fault %q is not well formed; want %s, as in pay:2=the service timed out", s, Form)
	}
	f := Fault{Tool: m[1], Says: m[5]}
	f.From, _ = strconv.Atoi(m[2])
	f.To = f.From
	if m[3] != "" {
		f.To, _ = strconv.Atoi(m[4])
	}
	switch {
	case f.From < 1 || m[4] != "" && f.To < f.From:
		return Fault{}, fmt.Errorf("fault %q: calls are counted from 1, the first one before the last", s)
	case len(f.Says) > maxSays:
		return Fault{}, fmt.Errorf("fault %q…: it says %d bytes; at most %d are accepted", s[:40], len(f.Says), maxSays)
	}
	return f, nil
}

// String gives the fault as Parse reads it.
func (f Fault) String() string {
	s := fmt.Sprintf("%s:%d", f.Tool, f.From)
	switch {
	case f.To == 0:
		s += "-"
	case f.To > f.From:
		s += "-" + strconv.Itoa(f.To)
	}
	if f.Says != "" {
		s += "=" + f.Says
	}
	return s
}

// hits reports whether the fault meets a tool's n-th call, which is the all-th of the trial.
func (f Fault) hits(tool string, n, all int) bool {
	if f.Tool == Any {
		n = all
	} else if f.Tool != tool {
		return false
	}
	return n >= f.From && (f.To == 0 || n <= f.To)
}

func (f Fault) observation(tool string) agentbound.Value {
	if f.Says != "" {
		return agentbound.StringValue("error: " + f.Says)
	}
	return agentbound.StringValue(fmt.Sprintf("error: %s timed out; nothing was changed", tool))
}

// Worlds opens the worlds of another factory with a script of faults over them; of several
// faults that meet a call the first one speaks.
type Worlds struct {
	world.Factory
	Script []Fault
}

// named stands between the factory's name and the script, as JSON.
const named = " faults "

// Name implements world.Factory: the script is part of it, since it decides trials.
func (w Worlds) Name() string {
	script := make([]string, len(w.Script))
	for i, f := range w.Script {
		script[i] = f.String()
	}
	b, err := agentbound.EncodeJSON(script)
	if err != nil { // texts always encode
		panic(err)
	}
	return w.Factory.Name() + named + string(b)
}

// Split takes a name apart that Worlds gave; without a script where it has none. What
// stands before the script, a model's name, may hold anything.
func Split(name string) (inner string, script []Fault, err error) {
	for from := 0; ; {
		i := strings.Index(name[from:], named+"[")
		if i < 0 {
			return name, nil, err
		}
		inner = name[:from+i]
		script, err = list(name[len(inner)+len(named):])
		if err == nil {
			return inner, script, nil
		}
		err = fmt.Errorf("world %q: %w", name, err)
		from += i + len(named)
	}
}

func list(text string) ([]Fault, error) {
	var all []string
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("its faults are not a list of texts: %w", err)
	}
	script := make([]Fault, len(all))
	for i, s := range all {
		var err error
		if script[i], err = Parse(s); err != nil {
			return nil, err
		}
	}
	return script, nil
}

// Open implements world.Factory.
func (w Worlds) Open(ctx context.Context, f *agentbound.Family, t *agentbound.Task) (world.World, error) {
	return w.over(w.Factory.Open(ctx, f, t))
}

// OpenSeeded implements world.Seeded.
func (w Worlds) OpenSeeded(ctx context.Context, f *agentbound.Family, t *agentbound.Task, seed uint64) (world.World, error) {
	return w.over(world.Open(ctx, w.Factory, f, t, seed))
}

// OpenRecorded implements world.Recorded.
func (w Worlds) OpenRecorded(ctx context.Context, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (world.World, error) {
	return w.over(world.OpenRecorded(ctx, w.Factory, f, t, tr))
}

func (w Worlds) over(inner world.World, err error) (world.World, error) {
	if err != nil {
		return nil, err
	}
	failer, ok := inner.(interface {
		world.World
		world.Failer
	})
	if !ok {
		return nil, errors.New("this world cannot be told of calls that a script of faults lets fail")
	}
	return &faulty{inner: failer, script: w.Script, made: map[string]int{}}, nil
}

type faulty struct {
	inner interface {
		world.World
		world.Failer
	}
	script []Fault
	made   map[string]int // calls, by tool
	all    int
}

// Call implements world.World.
func (w *faulty) Call(ctx context.Context, c agentbound.Call) (world.Observed, error) {
	if err := ctx.Err(); err != nil {
		return world.Observed{}, err
	}
	w.made[c.Tool]++
	w.all++
	for _, f := range w.script {
		if f.hits(c.Tool, w.made[c.Tool], w.all) {
			return w.inner.Fail(ctx, c, f.observation(c.Tool))
		}
	}
	return w.inner.Call(ctx, c)
}

// Fail implements world.Failer.
func (w *faulty) Fail(ctx context.Context, c agentbound.Call, observation agentbound.Value) (world.Observed, error) {
	return w.inner.Fail(ctx, c, observation)
}

// Usage implements world.Metered.
func (w *faulty) Usage() agentbound.Usage {
	if m, ok := w.inner.(world.Metered); ok {
		return m.Usage()
	}
	return agentbound.Usage{}
}
