package star

import (
	"fmt"
	"maps"
	mathbits "math/bits"
	"strings"

	"go.starlark.net/starlark"
)

// universe are the built-ins behind the rewritten forms, and the checked forms of
// those built-in functions that can grow a value or walk one natively.
var universe = func() starlark.StringDict {
	d := starlark.StringDict{
		fnMethod: starlark.NewBuiltin("method", func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return invoke(thread, args[0], string(args[1].(starlark.String)), args[2:], kwargs)
		}),
		fnAttr: form(func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return attribute(args[0], string(args[1].(starlark.String)))
		}),
		fnPlace: form(func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return newPlace(thread, args[0], args[1])
		}),
		fnSlice:  form(slice),
		fnSpread: form(spread),
		fnKey:    form(key),
		fnEmpty:  form(empty),
	}
	for op := range checkedOps {
		d[fnBinary+op.String()] = form(func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return operate(thread, op, args[0], args[1])
		})
	}
	for _, op := range augmented {
		d[fnAugment+op.String()] = form(func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return inPlace(thread, op, args[0], args[1])
		})
		d[fnUpdate+op.String()] = form(func(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			return starlark.None, update(thread, op, args[0].(place), args[1])
		})
	}
	for name, check := range checks {
		d[name] = guard(name, check)
	}
	for _, name := range []string{"sorted", "max", "min"} {
		d[name] = ordered(name)
	}
	d["fail"] = starlark.NewBuiltin("fail", fail)
	d["print"] = starlark.NewBuiltin("print", silence)
	for _, name := range []string{"getattr", "hasattr", "dir", "set"} {
		d[name] = absent(name)
	}
	return d
}()

// with gives the checked built-ins and the extra names.
func with(extra starlark.StringDict) starlark.StringDict {
	d := maps.Clone(universe)
	maps.Copy(d, extra)
	return d
}

// form is a checked form: only the rewriter calls it, with the right arguments.
func form(fn func(*starlark.Thread, starlark.Tuple) (starlark.Value, error)) *starlark.Builtin {
	return starlark.NewBuiltin("operator", func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return fn(thread, args)
	})
}

func absent(name string) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return nil, fmt.Errorf("%s is not available", name)
	})
}

// slice is charged when it is made: it is never larger than what it was cut from.
func slice(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	n := lengthOf(args[0])
	if _, text := args[0].(starlark.String); text {
		n /= bytesStep
	}
	if args[0].Type() == "range" {
		n = 0
	}
	return args[0], charge(thread, 1+n)
}

func spread(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	return args[0], growItems(thread, lengthOf(args[0]))
}

func key(thread *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
	work, err := keyWork(args[0])
	if err != nil {
		return nil, err
	}
	return args[0], charge(thread, work)
}

// empty is {}, which takes half a kilobyte and would be one step.
func empty(thread *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
	return new(starlark.Dict), charge(thread, 4)
}

// checks are what is looked at in each argument before a built-in function is run.
var checks = map[string]func(*starlark.Thread, starlark.Value) error{
	"all": checkItems, "any": checkItems, "bytes": checkItems, "enumerate": checkItems, "hash": checkItems, "list": checkItems,
	"reversed": checkItems, "tuple": checkItems, "zip": checkItems,
	"str": checkText, "repr": checkPrinted,
	"int": checkDigits, "float": checkDigits,
	"dict": func(thread *starlark.Thread, v starlark.Value) error { return growEntries(thread, 0, v) },
}

func guard(name string, check func(*starlark.Thread, starlark.Value) error) *starlark.Builtin {
	fn := starlark.Universe[name].(*starlark.Builtin)
	return starlark.NewBuiltin(name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		for _, a := range operands(args, kwargs) {
			if err := check(thread, a); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return fn.CallInternal(thread, args, kwargs)
	})
}

func checkItems(thread *starlark.Thread, v starlark.Value) error {
	if _, text := v.(starlark.String); text {
		return charge(thread, 1+lengthOf(v)/bytesStep)
	}
	return growItems(thread, lengthOf(v))
}

func checkText(thread *starlark.Thread, v starlark.Value) error {
	if _, text := v.(starlark.String); text {
		return charge(thread, 1)
	}
	return checkPrinted(thread, v)
}

func checkPrinted(thread *starlark.Thread, v starlark.Value) error {
	n, err := printed(v)
	if err != nil {
		return err
	}
	return growString(thread, n)
}

func checkDigits(_ *starlark.Thread, v starlark.Value) error {
	if n := lengthOf(v); n > maxIntDigits {
		return fmt.Errorf("a number of %d digits; at most %d are accepted", n, maxIntDigits)
	}
	return nil
}

// ordered is sorted, max or min: charged for its comparisons, of the items or of
// what the key function gives for each.
func ordered(name string) *starlark.Builtin {
	fn := starlark.Universe[name].(*starlark.Builtin)
	return starlark.NewBuiltin(name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		factor := 1
		if name == "sorted" && len(args) > 0 {
			factor = 1 + mathbits.Len(uint(lengthOf(args[0]))) // comparisons of each item
		}
		keyed := false
		kwargs = append([]starlark.Tuple(nil), kwargs...)
		for i, kv := range kwargs {
			if kv[0] == starlark.String("key") {
				kwargs[i], keyed = starlark.Tuple{kv[0], keyFunction(kv[1], factor)}, true
			}
		}
		if name == "sorted" && len(args) > 1 {
			args[1], keyed = keyFunction(args[1], factor), true
		}
		for _, a := range args {
			if err := beforeOrdered(thread, a, keyed, factor); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return fn.CallInternal(thread, args, kwargs)
	})
}

func beforeOrdered(thread *starlark.Thread, v starlark.Value, keyed bool, factor int) error {
	if err := growItems(thread, lengthOf(v)); err != nil || keyed {
		return err
	}
	if d, ok := v.(*starlark.Dict); ok { // its keys are what is compared
		v = starlark.Tuple(d.Keys())
	}
	work, err := weigh(v)
	if err != nil {
		return err
	}
	return charge(thread, factor*work)
}

// keyFunction is a key function whose results are charged as they will be compared.
func keyFunction(fn starlark.Value, factor int) starlark.Value {
	c, ok := fn.(starlark.Callable)
	if !ok {
		return fn
	}
	return starlark.NewBuiltin(c.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		v, err := starlark.Call(thread, c, args, kwargs)
		if err != nil {
			return nil, err
		}
		work, err := weigh(v)
		if err != nil {
			return nil, err
		}
		return v, charge(thread, factor*work)
	})
}

// failure is what fail(…) raises: a tool that says no, not a program that broke.
type failure struct{ msg string }

func (f failure) Error() string { return "fail: " + f.msg }

func fail(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	sep := " "
	if err := starlark.UnpackArgs("fail", nil, kwargs, "sep?", &sep); err != nil {
		return nil, err
	}
	size := 0
	parts := make([]string, len(args))
	for i, a := range args {
		s, text := starlark.AsString(a)
		n := len(s)
		if !text {
			var err error
			if n, err = printed(a); err != nil {
				return nil, err
			}
		}
		if size += len(sep) + n; size > maxString {
			return nil, growString(thread, size)
		}
		if !text {
			s = a.String()
		}
		parts[i] = s
	}
	if err := growString(thread, size); err != nil {
		return nil, err
	}
	return nil, failure{strings.Join(parts, sep)}
}

// silence is print: nobody reads it.
func silence(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return starlark.None, nil
}
