package star

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.starlark.net/starlark"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/agentbound/agentbound"
)

// Result is what a call did.
type Result struct {
	OK          bool
	Fault       Fault            // why not OK
	Observation agentbound.Value // what the subject sees
	Args        agentbound.Value // the arguments as the tool got them, defaults filled in; as sent where they did not fit
	After       State            // the state after; the state before where the call failed
	Diff        agentbound.Diff
}

// Fault says which kind of failure a failed call was.
type Fault string

// FaultTool: the tool said no with fail(…). FaultArgs: unknown tool, or arguments
// that do not fit. FaultProgram: the tool's program broke or passed its limits.
const (
	FaultNone    Fault = ""
	FaultTool    Fault = "tool"
	FaultArgs    Fault = "arguments"
	FaultProgram Fault = "program"
)

// Call executes a tool on a copy of the state. A failure of the tool is a Result; an
// error is ctx's, or that there is no state.
func (k *Kit) Call(ctx context.Context, before State, c agentbound.Call) (Result, error) {
	return k.call(ctx, before, c, wholeCall)
}

// Look executes a tool for its answer alone: what it does to the state is not worked
// out, and the result has no difference and the state before.
func (k *Kit) Look(ctx context.Context, before State, c agentbound.Call) (Result, error) {
	return k.call(ctx, before, c, answerOnly)
}

// depth says how much of a call is worked out.
type depth bool

const (
	wholeCall  depth = false
	answerOnly depth = true
)

func (k *Kit) call(ctx context.Context, before State, c agentbound.Call, d depth) (Result, error) {
	if before.Zero() {
		return Result{}, errNoState
	}
	t, args, refused := k.admit(before, c)
	if t == nil {
		return refused, nil
	}
	r, err := t.execute(ctx, before, args.filled, d, false)
	r.Args = args.encoded
	return r, err
}

// Admit checks a call without making it: its tool and its arguments, by their schema and
// the toolkit's types. Where they fit it gives them as the tool gets them; where they do
// not, the result is the failure that Call would give.
func (k *Kit) Admit(before State, c agentbound.Call) (args agentbound.Value, refused Result, ok bool) {
	t, done, refused := k.admit(before, c)
	return done.encoded, refused, t != nil
}

// admit gives the tool of a call and its completed arguments; no tool where the call is
// refused.
func (k *Kit) admit(before State, c agentbound.Call) (*tool, completed, Result) {
	refuse := func(format string, args ...any) (*tool, completed, Result) {
		return nil, completed{}, Result{Fault: FaultArgs, Observation: quote(fmt.Sprintf(format, args...)), Args: asSent(c.Args), After: before}
	}
	t, known := k.byName[c.Tool]
	if !known {
		return refuse("error: there is no tool %q; the tools are %s", clip(c.Tool), strings.Join(k.Names(), ", "))
	}
	args, err := t.complete(c.Args)
	if err != nil {
		return refuse("error: %s: %v", t.name, err)
	}
	return t, args, Result{}
}

// Complete gives a call's arguments as its tool gets them, defaults filled in; as
// they were sent where they do not fit.
func (k *Kit) Complete(c agentbound.Call) agentbound.Value {
	t, known := k.byName[c.Tool]
	if !known {
		return asSent(c.Args)
	}
	args, err := t.complete(c.Args)
	if err != nil {
		return asSent(c.Args)
	}
	return args.encoded
}

// completed are a call's arguments as its tool gets them.
type completed struct {
	filled  *starlark.Dict // frozen
	encoded agentbound.Value
}

// What is remembered of arguments: a trial's calls are completed by its world and
// again by each of its judges.
const (
	mostCompleted    = 64
	longestCompleted = 1 << 10 // bytes
)

func (t *tool) complete(raw agentbound.Value) (completed, error) {
	t.mu.Lock()
	args, known := t.completed[string(raw)]
	t.mu.Unlock()
	if known {
		return args, nil
	}
	filled, err := t.arguments(raw)
	if err != nil {
		return completed{}, err
	}
	encoded, err := Encode(filled)
	if err != nil {
		return completed{}, err
	}
	args = completed{filled, encoded}
	if len(raw) <= longestCompleted {
		t.mu.Lock()
		if t.completed == nil || len(t.completed) >= mostCompleted {
			t.completed = map[string]completed{}
		}
		t.completed[string(raw)] = args
		t.mu.Unlock()
	}
	return args, nil
}

// asSent is JSON for arguments that did not fit: themselves, or the text that they
// are where it is not JSON.
func asSent(raw agentbound.Value) agentbound.Value {
	if v, err := Decode(raw); err == nil {
		if enc, err := Encode(v); err == nil {
			return enc
		}
	}
	return quote(string(raw))
}

// quote is a text in canonical form whatever its bytes are.
func quote(s string) agentbound.Value { return agentbound.StringValue(valid(s)) }

// execute runs the tool on a copy of what it is known to write, or of the whole state
// where it turns out to write more.
func (t *tool) execute(ctx context.Context, before State, args *starlark.Dict, d depth, all bool) (Result, error) {
	failed := func(f Fault, err error) (Result, error) {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return Result{Fault: f, Observation: quote("error: " + reason(err)), After: before}, nil
	}
	work, err := t.writes.workOn(before, all)
	if err != nil {
		return failed(FaultProgram, err)
	}
	out, err := run(ctx, t.name, t.fn, starlark.Tuple{work}, args.Items())
	if err != nil && !all && wroteFrozen(err) {
		return t.execute(ctx, before, args, d, true)
	}
	if err != nil {
		return failed(kindOf(err), err)
	}
	observation, err := Encode(out)
	if err != nil {
		return failed(FaultProgram, fmt.Errorf("%s: the observation: %w", t.name, err))
	}
	result := Result{OK: true, Observation: observation, After: before}
	if d == answerOnly || work == before.v {
		return result, nil
	}
	after, changed, err := settleState(before, work)
	if err == nil {
		result.After = after
		result.Diff, err = difference(before, after, changed)
	}
	if err != nil {
		return failed(FaultProgram, fmt.Errorf("%s: the state: %w", t.name, err))
	}
	for _, part := range changed {
		if !t.writes.has(part) {
			t.writes.add(part)
		}
	}
	return result, nil
}

// wroteFrozen reports whether a program failed because it tried to change what it
// may not.
func wroteFrozen(err error) bool {
	return kindOf(err) == FaultProgram && strings.Contains(rootMessage(err), "frozen")
}

// kindOf tells a tool's own fail(…) from a broken program.
func kindOf(err error) Fault {
	if errors.As(err, new(failure)) {
		return FaultTool
	}
	return FaultProgram
}

func reason(err error) string {
	var f failure
	if errors.As(err, &f) {
		return clip(f.msg)
	}
	return clip(rootMessage(err))
}

func rootMessage(err error) string {
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		return eval.Msg
	}
	return err.Error()
}

// clip keeps an echo of what was sent from filling an observation.
func clip(s string) string {
	const most = 2000
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// arguments reads, checks and completes what was sent. Nothing sent is no arguments.
func (t *tool) arguments(raw agentbound.Value) (*starlark.Dict, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = agentbound.Value("{}")
	}
	v, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("the arguments are %w", err)
	}
	if s, ok := v.(starlark.String); ok { // how a trajectory keeps malformed JSON
		return nil, fmt.Errorf("the arguments are not a JSON object: %s", clip(string(s)))
	}
	schema, err := t.schema()
	if err != nil {
		return nil, err
	}
	doc := toGo(v)
	omitNone(t.params, doc)
	if err := schema.Validate(doc); err != nil {
		return nil, explain(err)
	}
	filled, err := fill(t.params, v)
	if err != nil {
		return nil, err
	}
	filled.Freeze()
	return filled.(*starlark.Dict), nil
}

var printer = message.NewPrinter(language.English)

// explain puts a schema's objections into one line.
func explain(err error) error {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err
	}
	var parts []string
	var walk func(*jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		if len(v.Causes) == 0 {
			what := v.ErrorKind.LocalizedString(printer)
			if len(v.InstanceLocation) > 0 {
				what = strings.Join(v.InstanceLocation, ".") + ": " + what
			}
			parts = append(parts, what)
		}
		for _, c := range v.Causes {
			walk(c)
		}
	}
	walk(v)
	slices.Sort(parts)
	return errors.New(clip(strings.Join(parts, "; ")))
}
