package star

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	env := with(argumentTypes())
	env["tool"] = starlark.NewBuiltin("tool", func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return starlark.None, k.declare(s.Name, args, kwargs)
	})
	globals, err := program(f, env)
	if err != nil {
		return positioned(s.Name, err)
	}
	globals.Freeze()
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
func (k *Kit) declare(file string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	var fn *starlark.Function
	var description string
	if err := starlark.UnpackArgs("tool", args, nil, "function", &fn, "description", &description); err != nil {
		return err
	}
	t := &tool{name: fn.Name(), from: file, fn: fn}
	if other, clash := k.byName[t.name]; clash {
		return fmt.Errorf("tool %s is declared twice, here and in %s; rename one", t.name, other.from)
	}
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		a, ok := kv[1].(*argument)
		if !ok {
			return fmt.Errorf("tool %s: argument %s must be string(…), integer(…) or the like, found a %s", t.name, name, kv[1].Type())
		}
		a.settle()
		t.params = append(t.params, field{name, a})
	}
	if err := t.checkParams(); err != nil {
		return err
	}
	schema, err := schemaValue(objectSchema(t.params))
	if err != nil {
		return fmt.Errorf("tool %s: %w", t.name, err)
	}
	t.schema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileSchema(schema) })
	k.byName[t.name] = t
	k.tools = append(k.tools, agentbound.Tool{Name: t.name, Description: description, Schema: schema})
	return nil
}

// checkParams compares what is declared with the function's own parameters.
func (t *tool) checkParams() error {
	n := t.fn.NumParams()
	if n == 0 {
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
		if !own[p.name] {
			return fmt.Errorf("tool %s: argument %s is declared, but its function has no such parameter after the state", t.name, p.name)
		}
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
	return fromGo(v, 0)
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
// error is ctx's alone.
func (k *Kit) Call(ctx context.Context, before State, c agentbound.Call) (Result, error) {
	refuse := func(f Fault, format string, args ...any) (Result, error) {
		return Result{Fault: f, Observation: agentbound.StringValue(fmt.Sprintf(format, args...)), Args: c.Args, After: before}, nil
	}
	t, known := k.byName[c.Tool]
	if !known {
		return refuse(FaultArgs, "error: there is no tool %q; the tools are %s", clip(c.Tool), strings.Join(k.Names(), ", "))
	}
	args, err := t.arguments(c.Args)
	if err != nil {
		return refuse(FaultArgs, "error: %s: %v", t.name, err)
	}
	enc, err := Encode(args)
	if err != nil {
		return refuse(FaultArgs, "error: %s: %v", t.name, err)
	}
	r, err := t.execute(ctx, before, args)
	r.Args = enc
	return r, err
}

// Complete gives a call's arguments as its tool gets them, defaults filled in; as
// they were sent where they do not fit.
func (k *Kit) Complete(c agentbound.Call) agentbound.Value {
	t, known := k.byName[c.Tool]
	if !known {
		return c.Args
	}
	args, err := t.arguments(c.Args)
	if err != nil {
		return c.Args
	}
	enc, err := Encode(args)
	if err != nil {
		return c.Args
	}
	return enc
}

func (t *tool) execute(ctx context.Context, before State, args *starlark.Dict) (Result, error) {
	failed := func(f Fault, err error) (Result, error) {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return Result{Fault: f, Observation: agentbound.StringValue("error: " + reason(err)), After: before}, nil
	}
	work, err := copyTree(before.v)
	if err != nil {
		return failed(FaultProgram, err)
	}
	out, err := run(ctx, t.name, t.fn, starlark.Tuple{work}, args.Items())
	if err != nil {
		return failed(kindOf(err), err)
	}
	observation, err := Encode(out)
	if err != nil {
		return failed(FaultProgram, fmt.Errorf("%s: the observation: %w", t.name, err))
	}
	settled, err := copyTree(work)
	if err != nil {
		return failed(FaultProgram, fmt.Errorf("%s: the state: %w", t.name, err))
	}
	after := State{settled}
	diff, err := Difference(before, after)
	if err != nil {
		return failed(FaultProgram, err)
	}
	if len(diff) == 0 {
		return Result{OK: true, Observation: observation, After: before}, nil
	}
	settled.Freeze()
	return Result{OK: true, Observation: observation, After: after, Diff: diff}, nil
}

// kindOf tells a tool's own fail(…) from a broken program.
func kindOf(err error) Fault {
	if strings.HasPrefix(rootMessage(err), "fail: ") {
		return FaultTool
	}
	return FaultProgram
}

func reason(err error) string { return clip(strings.TrimPrefix(rootMessage(err), "fail: ")) }

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

// arguments reads, checks and completes what was sent.
func (t *tool) arguments(raw agentbound.Value) (*starlark.Dict, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if s, ok := doc.(string); ok { // how a trajectory keeps malformed JSON
		return nil, fmt.Errorf("the arguments are not a JSON object: %s", clip(s))
	}
	schema, err := t.schema()
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(doc); err != nil {
		return nil, explain(err)
	}
	v, err := fromGo(doc, 0)
	if err != nil {
		return nil, err
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
