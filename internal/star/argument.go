package star

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"
)

// argument is what string(…), integer(…) and the like give: the type of one
// argument of a tool. It is a Starlark value only so that tool(…) can be handed it.
type argument struct {
	kind        string // JSON Schema type, or "strings", "enum", "objects"
	description string
	values      []string       // of an enum
	fields      []field        // of an object, in the order written
	fallback    starlark.Value // default; nil where the argument is required
	size        int            // of the type: itself, values and fields of fields
}

// maxTypeSize bounds one argument's type, which a schema writes out in full.
const maxTypeSize = 1000

type field struct {
	name string
	*argument
}

func (a *argument) String() string        { return a.kind + "(…)" }
func (a *argument) Type() string          { return "argument" }
func (a *argument) Freeze()               {}
func (a *argument) Truth() starlark.Bool  { return true }
func (a *argument) Hash() (uint32, error) { return 0, errors.New("unhashable: argument") }

// argumentTypes are the constructors that a toolkit sees.
func argumentTypes() starlark.StringDict {
	d := starlark.StringDict{}
	for _, kind := range []string{"string", "strings", "integer", "number", "boolean"} {
		d[kind] = starlark.NewBuiltin(kind, plainArgument)
	}
	d["enum"] = starlark.NewBuiltin("enum", enumArgument)
	d["object"] = starlark.NewBuiltin("object", objectArgument)
	d["objects"] = starlark.NewBuiltin("objects", objectArgument)
	return d
}

func plainArgument(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	a := &argument{kind: b.Name()}
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "description?", &a.description, "default?", &a.fallback); err != nil {
		return nil, err
	}
	if err := a.checkDefault(); err != nil {
		return nil, err
	}
	return a, nil
}

func enumArgument(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	a := &argument{kind: b.Name()}
	var values starlark.Iterable
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "values", &values, "description?", &a.description, "default?", &a.fallback); err != nil {
		return nil, err
	}
	for v := range starlark.Elements(values) {
		s, ok := v.(starlark.String)
		if !ok {
			return nil, fmt.Errorf("enum: values must be texts, found a %s", v.Type())
		}
		if len(a.values) == maxTypeSize {
			return nil, fmt.Errorf("enum: more than %d values", maxTypeSize)
		}
		a.values = append(a.values, string(s))
	}
	if len(a.values) == 0 {
		return nil, errors.New("enum: at least one value is needed")
	}
	if err := a.checkDefault(); err != nil {
		return nil, err
	}
	return a, nil
}

// objectArgument takes the fields by name: object("What it is.", city = string("…")).
func objectArgument(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	a := &argument{kind: b.Name()}
	if err := starlark.UnpackArgs(b.Name(), args, nil, "description?", &a.description); err != nil {
		return nil, err
	}
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		if name == "default" {
			a.fallback = kv[1]
			continue
		}
		f, ok := kv[1].(*argument)
		if !ok {
			return nil, fmt.Errorf("%s: field %s must be string(…), integer(…) or the like, found a %s", b.Name(), name, kv[1].Type())
		}
		if slices.ContainsFunc(a.fields, func(f field) bool { return f.name == name }) {
			return nil, fmt.Errorf("%s: field %s is given twice", b.Name(), name)
		}
		if a.size += 1 + f.size + len(f.values); a.size > maxTypeSize {
			return nil, fmt.Errorf("%s: more than %d fields, with those of its fields", b.Name(), maxTypeSize)
		}
		a.fields = append(a.fields, field{name, f})
	}
	if err := a.checkDefault(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *argument) checkDefault() error {
	if a.fallback == nil || a.fallback == starlark.None {
		return nil
	}
	if want := a.starlarkType(); a.fallback.Type() != want && !(want == "float" && a.fallback.Type() == "int") {
		return fmt.Errorf("%s: the default is a %s, and a %s is needed", a.kind, a.fallback.Type(), want)
	}
	if s, ok := a.fallback.(starlark.String); ok && a.kind == "enum" && !slices.Contains(a.values, string(s)) {
		return fmt.Errorf("enum: the default %q is not one of its values", clip(string(s)))
	}
	if list, ok := a.fallback.(*starlark.List); ok && a.kind == "strings" {
		for x := range list.Elements() {
			if x.Type() != "string" {
				return fmt.Errorf("strings: the default holds a %s", x.Type())
			}
		}
	}
	return nil
}

// defaults are the values that all calls share.
func defaults(fields []field) []starlark.Value {
	var all []starlark.Value
	for _, f := range fields {
		if f.fallback != nil {
			all = append(all, f.fallback)
		}
		all = append(all, defaults(f.fields)...)
	}
	return all
}

func (a *argument) starlarkType() string {
	switch a.kind {
	case "strings", "objects":
		return "list"
	case "integer":
		return "int"
	case "number":
		return "float"
	case "boolean":
		return "bool"
	case "object":
		return "dict"
	}
	return "string"
}

// schema is the JSON Schema of the argument. A default of None marks an argument
// that may be left out and has no default to show.
func (a *argument) schema() map[string]any {
	s := map[string]any{}
	switch a.kind {
	case "strings":
		s["type"], s["items"] = "array", map[string]any{"type": "string"}
	case "enum":
		values := make([]any, len(a.values))
		for i, v := range a.values {
			values[i] = v
		}
		s["type"], s["enum"] = "string", values
	case "object":
		s = objectSchema(a.fields)
	case "objects":
		s["type"], s["items"] = "array", objectSchema(a.fields)
	default:
		s["type"] = a.kind
	}
	if a.description != "" {
		s["description"] = a.description
	}
	if a.fallback != nil && a.fallback != starlark.None {
		s["default"] = a.fallback
	}
	return s
}

func objectSchema(fields []field) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, f := range fields {
		properties[f.name] = f.schema()
		if f.fallback == nil {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// convert fits a JSON value to the argument: a whole float becomes an integer where
// one is declared, and defaults are filled in.
func (a *argument) convert(v starlark.Value) (starlark.Value, error) {
	switch a.kind {
	case "integer":
		if f, ok := v.(starlark.Float); ok {
			return starlark.NumberToInt(f)
		}
	case "object":
		return fill(a.fields, v)
	case "objects":
		list, ok := v.(*starlark.List)
		if !ok {
			return v, nil
		}
		elems := make([]starlark.Value, list.Len())
		for i := range elems {
			e, err := fill(a.fields, list.Index(i))
			if err != nil {
				return nil, err
			}
			elems[i] = e
		}
		return starlark.NewList(elems), nil
	}
	return v, nil
}

// fill converts the fields of an object and adds the defaults of absent ones.
func fill(fields []field, v starlark.Value) (starlark.Value, error) {
	d, ok := v.(*starlark.Dict)
	if !ok {
		return v, nil
	}
	out := starlark.NewDict(len(fields))
	for _, f := range fields {
		x, found, err := d.Get(starlark.String(f.name))
		switch {
		case err != nil:
			return nil, err
		case found:
			if x, err = f.convert(x); err != nil {
				return nil, err
			}
		case f.fallback != nil:
			x = f.fallback
		default:
			continue
		}
		if err := out.SetKey(starlark.String(f.name), x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// omitNone takes null out where the default is None: it says what leaving the
// argument out says, models send it, and completed arguments hold it.
func omitNone(fields []field, doc any) {
	m, ok := doc.(map[string]any)
	if !ok {
		return
	}
	for _, f := range fields {
		x, found := m[f.name]
		list, _ := x.([]any)
		switch {
		case found && x == nil && f.fallback == starlark.None:
			delete(m, f.name)
		case f.kind == "object":
			omitNone(f.fields, x)
		case f.kind == "objects":
			for _, e := range list {
				omitNone(f.fields, e)
			}
		}
	}
}
