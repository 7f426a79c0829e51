package star

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.starlark.net/starlark"

	"github.com/agentbound/agentbound"
)

// Kit is the tools of a family, loaded from its toolkits. It is safe for use by
// several goroutines.
type Kit struct {
	tools  []agentbound.Tool
	byName map[string]*tool
}

type tool struct {
	name    string
	from    string // file
	fn      *starlark.Function
	params  []field
	schema  func() (*jsonschema.Schema, error)
	reach   reach
	effects Effects
	reads   bool // it certainly changes nothing
	writes  written

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
		t.reads = reaching.readOnly(t.fn)
		t.effects = reaching.effects(t.fn)
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
