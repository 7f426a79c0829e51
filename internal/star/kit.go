package star

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.starlark.net/starlark"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/agentbound/agentbound"
)

// Kit is the tools of a family, loaded from its toolkits. It is safe for use by
// several goroutines.
type Kit struct {
	tools  []agentbound.Tool
	byName map[string]*tool
}

type tool struct {
	name   string
	from   string // file
	fn     *starlark.Function
	params []field
	schema func() (*jsonschema.Schema, error)
	reach  reach
	writes written

	mu        sync.Mutex
	completed map[string]completed // by the arguments as sent
}

// LoadKit executes toolkit files. Its errors carry file, line and column: a
// syntax.Error, a resolve.ErrorList, or a *starlark.EvalError behind a position.
func LoadKit(sources []agentbound.Source) (*Kit, error) {
	k := &Kit{byName: map[string]*tool{}}
	for _, s := range sources {
		if err := k.load(s); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *Kit) load(s agentbound.Source) error {
	f, err := parseFile(s.Name, s.Text)
	if err != nil {
		return err
	}
	plain, err := dialect.Parse(s.Name, s.Text, 0) // as written: f is rewritten by now
	if err != nil {
		return err
	}
	reaching := newReaching(plain)
	env := with(argumentTypes())
	var keep []starlark.Value // what outlives the load: calls share it, so it is frozen
	loaded := false
	env["tool"] = starlark.NewBuiltin("tool", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if loaded {
			return nil, errors.New("tool(…) declares a tool while its file is loaded, not in a call")
		}
		t, err := k.declare(s.Name, args, kwargs)
		if err != nil {
			return nil, err
		}
		t.reach = reaching.of(t.fn)
		keep = append(append(keep, t.fn), defaults(t.params)...)
		return starlark.None, nil
	})
	globals, err := program(f, env)
	loaded = true
	if err != nil {
		return positioned(s.Name, err)
	}
	for _, name := range globals.Keys() {
		keep = append(keep, globals[name])
	}
	if err := settle(keep); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// positioned puts the place of a run-time error in front of its message.
func positioned(file string, err error) error {
	var eval *starlark.EvalError
	if !errors.As(err, &eval) {
		return err
	}
	for i := range eval.CallStack {
		if pos := eval.CallStack.At(i).Pos; pos.Filename() == file && pos.Line > 0 {
			return fmt.Errorf("%s: %w", pos, err)
		}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// declare is tool(function, description, argument = type, …).
func (k *Kit) declare(file string, args starlark.Tuple, kwargs []starlark.Tuple) (*tool, error) {
	var fn *starlark.Function
	var description string
	if err := starlark.UnpackArgs("tool", args, nil, "function", &fn, "description", &description); err != nil {
		return nil, err
	}
	t := &tool{name: fn.Name(), from: file, fn: fn}
	if t.name == "lambda" || !toolName.MatchString(t.name) {
		return nil, fmt.Errorf("tool %s: a tool is a function with a name of at most 64 letters a-z, digits and _", clip(t.name))
	}
	if other, clash := k.byName[t.name]; clash {
		return nil, fmt.Errorf("tool %s is declared twice, here and in %s; rename one", t.name, other.from)
	}
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		a, ok := kv[1].(*argument)
		if !ok {
			return nil, fmt.Errorf("tool %s: argument %s must be string(…), integer(…) or the like, found a %s", t.name, name, kv[1].Type())
		}
		t.params = append(t.params, field{name, a})
	}
	if err := t.checkParams(); err != nil {
		return nil, err
	}
	schema, err := schemaValue(objectSchema(t.params))
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", t.name, err)
	}
	t.schema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileSchema(schema) })
	k.byName[t.name] = t
	k.tools = append(k.tools, agentbound.Tool{Name: t.name, Description: description, Schema: schema})
	return t, nil
}

// toolName is what the vendors of models accept, and a Starlark name.
var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// checkParams compares what is declared with the function's own parameters.
func (t *tool) checkParams() error {
	n := t.fn.NumParams()
	if n == t.fn.NumKwonlyParams() {
		return fmt.Errorf("tool %s: its function needs a first parameter, the state", t.name)
	}
	own := map[string]bool{}
	for i := 1; i < n; i++ {
		name, _ := t.fn.Param(i)
		own[name] = true
		declared := slices.ContainsFunc(t.params, func(f field) bool { return f.name == name })
		if !declared && t.fn.ParamDefault(i) == nil {
			return fmt.Errorf("tool %s: its function's parameter %s is not declared; add %s = string(…) or the like", t.name, name, name)
		}
	}
	for _, p := range t.params {
		if !own[p.name] { // or it was declared before
			return fmt.Errorf("tool %s: argument %s is declared, but its function has no such parameter after the state", t.name, p.name)
		}
		delete(own, p.name)
	}
	return nil
}

// schemaValue encodes a schema; its defaults are Starlark values.
func schemaValue(schema map[string]any) (agentbound.Value, error) {
	v, err := schemaTree(schema)
	if err != nil {
		return nil, err
	}
	return Encode(v)
}

func schemaTree(v any) (starlark.Value, error) {
	switch v := v.(type) {
	case starlark.Value:
		return v, nil
	case map[string]any:
		d := starlark.NewDict(len(v))
		for k, e := range v {
			x, err := schemaTree(e)
			if err != nil {
				return nil, err
			}
			if err := d.SetKey(starlark.String(k), x); err != nil {
				return nil, err
			}
		}
		return d, nil
	case []any:
		elems := make([]starlark.Value, len(v))
		for i, e := range v {
			x, err := schemaTree(e)
			if err != nil {
				return nil, err
			}
			elems[i] = x
		}
		return starlark.NewList(elems), nil
	}
	return fromGo(v)
}

func compileSchema(schema agentbound.Value) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("arguments.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("arguments.json")
}

// Tools are the tools in the order of their declaration.
func (k *Kit) Tools() []agentbound.Tool { return slices.Clone(k.tools) }

// Names are the tools' names in the order of their declaration.
func (k *Kit) Names() []string {
	names := make([]string, len(k.tools))
	for i, t := range k.tools {
		names[i] = t.Name
	}
	return names
}

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
	refuse := func(format string, args ...any) (Result, error) {
		return Result{Fault: FaultArgs, Observation: quote(fmt.Sprintf(format, args...)), Args: asSent(c.Args), After: before}, nil
	}
	t, known := k.byName[c.Tool]
	if !known {
		return refuse("error: there is no tool %q; the tools are %s", clip(c.Tool), strings.Join(k.Names(), ", "))
	}
	args, err := t.complete(c.Args)
	if err != nil {
		return refuse("error: %s: %v", t.name, err)
	}
	r, err := t.execute(ctx, before, args.filled, d, false)
	r.Args = args.encoded
	return r, err
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
