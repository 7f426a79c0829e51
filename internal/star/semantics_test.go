package star

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"
)

// outcome of a program: the value of its global "out", or that it failed.
type outcome struct{ value, failure string }

func plainly(text string) outcome {
	thread := &starlark.Thread{Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(MaxSteps)
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, "t.star", text, nil)
	return outcomeOf(globals, err)
}

func checkedly(text string) outcome {
	f, err := parseFile("t.star", text)
	if err != nil {
		return outcome{failure: err.Error()}
	}
	globals, err := program(f, universe)
	return outcomeOf(globals, err)
}

func outcomeOf(globals starlark.StringDict, err error) outcome {
	if err != nil {
		return outcome{failure: err.Error()}
	}
	out := globals["out"]
	if out == nil {
		return outcome{failure: "no out"}
	}
	return outcome{value: out.Type() + " " + out.String()}
}

// agree compares both, by the message too where one is wanted.
func agree(t interface{ Errorf(string, ...any) }, text string, messages bool) {
	want, got := plainly(text), checkedly(text)
	if want.value != got.value || (want.failure == "") != (got.failure == "") || messages && want.failure != got.failure {
		t.Errorf("%s\nplain Starlark: %q %q\nchecked:        %q %q", text, want.value, want.failure, got.value, got.failure)
	}
}

func TestExpressionsAsStarlark(t *testing.T) {
	for _, x := range strings.Split(strings.TrimSpace(`
1 + 2 * 3 - 4 // 3 % 5
7 // -2, 7 % -2, -7 // 2, -7 % 2, 7.5 // 2, 7.5 % -2, 7 / 2
1 << 10 | 3 ^ 5 & 6, ~5, -(-3), +4, 100 >> 3
2 * 3.5, 1 + 1.0, 1.0 - 3, 10 - 3 - 2, 1e300 * 1e300, 0.1 + 0.2
(1 << 511) * (1 << 511) - 1
"a" + "b" * 3 + "c", 3 * "ab", "ab" * 0, "ab" * -1, "" + ""
[1] + [2, 3] * 2, 2 * [1], [[]] * 3, [1] * 0
(1,) + (2, 3) * 2, () * 5, (1, 2) + ()
{"a": 1} | {"b": 2} | {"a": 3}
b"ab" + b"c", b"a" * 3, b"abc"[1], list(b"ab".elems())
"%s is %d, %r, %%, %c%c" % ("x", 42.9, "q", "c", 65), "%s" % [1, "a"], "%x %X %o %e %f %g" % (255, 255, 8, 1.5, 2.5, 3.5)
"%(a)s-%(b)r" % {"a": 1, "b": "x"}, "%s" % (("t",),), "%s" % {"a": 1}
"%d" % "x"
"%s %s" % 1
"%s" % (1, 2)
1 == 1.0, 1 != 1, "a" == "a", [1, [2]] == [1, [2]], {"a": 1} == {"a": 1.0}, (1,) == [1], None == False, 0 == False, "1" == 1
1 < 2, 2 <= 2.0, "a" < "b", [1, 2] < [1, 3], (1,) < (1, 0), 3 > 2, 3 >= 4
[1] < (1,)
1 < "a"
None < None
1 in [1.0], "b" in "abc", "k" in {"k": 1}, (1, 2) in [(1, 2)], 3 in (1, 2), 1 not in [1], "x" not in "abc", 3 in range(5), [] in {"a": 1}, None in [None]
1 in "abc"
[1] in [[1], [2]], {"a": [1]} in [{"a": [1]}]
not 1 == 2, not [], 1 and 2, 0 or "x", [] and fail(), 1 or fail(), 1 if [] else 2
[x * y for x in range(4) if x % 2 for y in [x, x + 1] if y != 2], {k: v for k, v in [("a", 1), ("b", 2), ("a", 3)]}
[[y for y in range(x)] for x in range(4)], [x for x in [x for x in [1, 2]]], [a + b for (a, [b]) in [(1, [2]), (3, [4])]]
"Hello".lower().upper().title(), "a,b,,c".split(","), "a,b,,c".split(",", 1), " a  b ".split(), " a b c ".rsplit(None, 1), "a-b-c".rsplit("-", 1), "x\ny\n".splitlines(True)
"abcabc".replace("b", "xy"), "abc".replace("", "-"), "abcabc".replace("bc", "", 1), "a-b-c".partition("-"), "a-b-c".rpartition("-"), "abc".partition("z")
"abc".find("c"), "abc".rfind("z"), "abcabc".index("b", 2), "abcabc".count("a"), "abc".startswith("ab"), "abc".endswith(("x", "c")), "abc".startswith(("b", "c"))
"  x ".strip(), "xxaxx".strip("x"), "xxaxx".lstrip("x"), "xxaxx".rstrip("x"), "été".strip("é"), "abc".removeprefix("a"), "abc".removesuffix("c")
"a1".isalnum(), "a".isalpha(), "1".isdigit(), "a".islower(), " ".isspace(), "A".istitle(), "A".isupper(), "hello world".capitalize()
"-".join(["a", "b"]), "-".join([]), "-".join(("x",)), "".join({"a": 1, "b": 2}), "+".join("a,b".split(",")), ",".join("ab".elems())
"-".join([1])
"{} {}".format(1, "a"), "{1}{0}{1!r}".format("x", "y"), "{a}-{b!r}".format(a = 1, b = "q"), "{{}}".format(), "{0} {k}".format(1, k = [2])
"{} {0}".format(1)
"abc"[1], "abc"[-1], "abc"[1:], "abc"[::-1], "abcdef"[4:0:-2], [1, 2, 3][:2], [1, 2, 3][::-1], (1, 2, 3)[1:], range(10)[2:8:3], b"abc"[1:]
"abc"[3]
{"a": 1}["b"]
[1][True]
[1, 2][[0, 1][1]], {(1, 2): 3}[(1, 2)], {1: "a"}[1.0], {None: 1}[None], {True: 1}[True], {1 << 40: 2}[1 << 40], {1.5: 3}[1.5]
{[]: 1}
{"a": 1, "a": 2}
len("abc"), len([1]), len({}), len(range(3)), abs(-3), abs(-2.5), bool([]), bool("x"), chr(65), ord("A"), type({}), type(1), type(None), type(len)
int("42"), int("ff", 16), int("0x1F", 0), int(3.9), int(True), float("1.5"), float(3), str(1.0), str([1, "a"]), str("s"), repr("s"), str(None), str({"a": (1,)})
int("x")
list("ab".elems()), list({"a": 1}), tuple([1, 2]), dict([("a", 1)]), dict({"a": 1}, b = 2), dict(a = 1), list(range(3)), list(enumerate(["a"], 5)), zip([1, 2], "ab".elems(), (True, False, None)), reversed([1, 2])
sorted([3, 1, 2]), sorted(["b", "a"], reverse = True), sorted({"b": 1, "a": 2}), sorted([(2, "a"), (1, "b")]), sorted([-3, 2, 1], key = abs), sorted(["bb", "a"], key = lambda s: len(s), reverse = True), sorted([3, 1, 2], lambda x: -x)
sorted([1, "a"])
min(3, 1, 2), max([1, 5, 3]), max("a", "b"), min([[2], [1]]), max([1, -5], key = abs), min({"b": 1, "a": 2}), max(1, 2.5)
max([])
any([0, "", None]), any([0, 1]), all([]), all([1, 0]), any({"a": 0}), all(range(1, 3)), hash("abc"), hash(b"a")
(lambda x, y = 2: x + y)(1), (lambda: [1, 2])(), (lambda *, k: k)(k = 3), [f(2) for f in [lambda x: x * 2, lambda x: x + 1]]
dict(**{"a": 1}), max(*[1, 2, 3]), "{}{}".format(*["a", "b"]), "{a}".format(**{"a": 1}), dict([("x", 1)], **{"y": 2})
[].append, "".join, str({}.get), [x.append for x in [[]]][0] == [].append
"abc".nope
None.x
"é"[0], list("é".elems()), list("é".codepoints()), list("é".elem_ords()), list("é".codepoint_ords()), str("ab".elems()), len("é")
{"a": 1}.get("a"), {"a": 1}.get("b"), {"a": 1}.get("b", 2), {"a": 1}.keys(), {"a": 1}.values(), {"a": 1}.items(), {"a": 1}.pop("a"), {"a": 1}.pop("b", 3), {"a": 1}.popitem(), {}.setdefault("a", [])
{}.pop("a")
{}.popitem()
[3, 1].index(1), [1, 2, 3].pop(), [1, 2, 3].pop(0), [1, 2].index(2, 1)
[1].index(5)
(1,), (1, 2), (), [1, ][0], {"a": 1, }, ((1))
1 // 0
1 % 0
1.0 / 0
"a" + 1
1 + "a"
[1] + (1,)
-"a"
{} | 1
1 << -1
1 << 600
"x" * "y"
[] - []
`), "\n") {
		agree(t, "out = "+x+"\n", false)
		agree(t, "def f():\n    return "+x+"\nout = f()\n", false)
	}
}

func TestProgramsAsStarlark(t *testing.T) {
	for _, body := range []string{
		// in-place growth and aliases
		"a = [1]\nb = a\na += [2]\na += (3,)\na += {4: 5}\nreturn a, b",
		"a = [1]\nb = a\na = a + [2]\nreturn a, b",
		"a = [1]\na += a\nreturn a",
		"a = {'x': 1}\nb = a\na |= {'y': 2}\nreturn a, b",
		"a = {'x': 1}\nb = a\na = a | {'y': 2}\nreturn a, b",
		"d = {'k': [1]}\nalias = d['k']\nd['k'] += [2]\nreturn d, alias",
		"d = {'k': {'x': 1}}\nalias = d['k']\nd['k'] |= {'y': 2}\nreturn d, alias",
		"t = ([1],)\nt[0] += [2]\nreturn t",
		"l = [[1], 'a', 2]\nl[0] += [5]\nl[1] += 'b'\nl[2] += 3\nl[-1] *= 4\nreturn l",
		"x = 5\nx += 1\nx -= 2\nx *= 7\nx //= 2\nx %= 9\nx <<= 3\nx >>= 1\nx |= 8\nx &= 12\nx ^= 5\nreturn x",
		"x = 5.0\nx /= 2\nx -= 0.5\nx += 1\nreturn x",
		"s = 'a'\ns += 'b'\ns *= 3\nreturn s",
		"s = '%s'\ns %= 1\nreturn s",
		"d = {'n': 5}\nd['n'] -= 2\nd['n'] -= d['n']\nd['n'] += 1 << 3\nd['n'] <<= 2\nd['n'] |= 1\nd['n'] %= 7\nreturn d",
		"d = {}\nd['x'] += 1\nreturn d",
		"l = [1]\nl[5] += 1\nreturn l",
		"l = [1]\nl['a'] += 1\nreturn l",
		"a = [1]\na += 5\nreturn a",
		"a = []\na += 'text'\nreturn a",
		"x += 1\nreturn x",
		"(x) = 1\n(x) += 2\nreturn x",
		"l = [1]\n(l[0]) += 2\nreturn l",
		// order of evaluation, and once
		"log = []\ndef f(x):\n    log.append(x)\n    return x\na = [1, 2, 3]\na[f(1)] += f(10)\nreturn a, log",
		"log = []\ndef f(x):\n    log.append(x)\n    return x\nd = {}\nd[f('k')] = f('v')\nreturn d, log",
		"log = []\ndef f(x):\n    log.append(x)\n    return x\nr = f(1) + f(2) * f(3) == f(7)\nreturn r, log",
		"log = []\ndef f(x):\n    log.append(x)\n    return x\nr = f('a').replace(f('a'), f('b')), {f(1): f(2)}, f([1, 2, 3])[f(0):f(2)], f(1) in f([1])\nreturn r, log",
		"log = []\ndef f(x):\n    log.append(x)\n    return x\nr = f(1) and f(0) and f(2) or f(3)\nreturn r, log",
		"log = []\ndef f(x):\n    log.append(x)\n    return x\na, b = [0, 0], {}\na[f(0)], b[f('x')] = f(1), f(2)\nreturn a, b, log",
		"d = {'k': 1}\ndef g():\n    d['k'] = 10\n    return 1\nd['k'] += g()\nreturn d",
		"d = {'k': [1]}\ndef g():\n    d['k'] = 'gone'\n    return [2]\nd['k'] += g()\nreturn d",
		"l = [1]\ndef g():\n    l.append(5)\n    return 1\nl[0] += g()\nreturn l",
		"x = [1]\ndef g():\n    x.append(5)\n    return [2]\nx += g()\nreturn x",
		"log = []\ndef f(x):\n    log.append(x)\n    return x\nr = max(f(1), f(2), key = f(lambda x: -x)) + len(f('abc'))\nreturn r, [type(x) for x in log]",
		// targets
		"a, (b, [c, d]) = 1, (2, [3, 4])\nreturn a, b, c, d",
		"[a, b] = (1, 2)\na, b = b, a\nreturn a, b",
		"l = [0, 0]\nl[0], l[1] = 1, 2\nfor l[0] in [5, 6]:\n    pass\nreturn l",
		"d = {}\nfor d['i'], d['j'] in [(1, 2), (3, 4)]:\n    pass\nreturn d",
		"a, b = 1\nreturn a", "a, b = (1, 2, 3)\nreturn a", "a, b = [1]\nreturn a",
		"r = []\nfor i, (k, v) in enumerate({'a': 1, 'b': 2}.items()):\n    r.append((i, k, v))\nreturn r",
		"x = [1]\nx.y = 2\nreturn x", "x = [1]\nx.append += 2\nreturn x",
		// control
		"r = []\nfor i in range(10):\n    if i == 2:\n        continue\n    elif i > 5:\n        break\n    else:\n        r.append(i)\nreturn r",
		"for i in range(3):\n    for j in range(3):\n        if i * j == 2:\n            return i, j",
		"pass\nreturn",
		"return 1 if 2 > 3 else 4 if 5 else 6",
		// functions
		"def f(a, b = 2, *, c, d = 4):\n    return [a, b, c, d]\nreturn f(1, c = 3), f(c = 1, a = 2, b = 3), f(*[1, 2], **{'c': 5})",
		"def f(a, l = []):\n    l.append(a)\n    return l\nf(1)\nreturn f(2)",
		"n = [0]\ndef inc():\n    n[0] += 1\n    return n[0]\nreturn [inc() for _ in range(3)], n",
		"fs = [lambda x, i = i: x + i for i in range(3)]\nreturn [f(10) for f in fs]",
		"def f():\n    return f()\nreturn f()",
		"def f(a):\n    return a\nreturn f()", "def f(a):\n    return a\nreturn f(1, 2)", "def f(a):\n    return a\nreturn f(b = 1)", "def f(a):\n    return a\nreturn f(1, a = 2)",
		"f = 5\nreturn f()",
		"g = [].append\ng2 = 'a-b'.split\nreturn g2('-'), type(g), str(g)",
		"l = []\ng = l.append\ng(1)\ng(2)\nreturn l",
		"l = [3, 1, 2]\nm = {'f': l.index, 'g': max}\nreturn m['f'](1), m['g'](l)",
		"return [m('b') for m in ['abc'.find, 'abc'.count, 'abc'.startswith]]",
		"l = [1, 2, 3]\nl.insert(1, 'x')\nl.insert(-1, 'y')\nl.insert(99, 'z')\nl.remove('x')\nl.extend((4, 5))\nl.extend({'k': 1})\nreturn l, l.pop(-2), l.clear(), l",
		"d = {'b': 1}\nd.update({'a': 2}, c = 3)\nd.update([('d', 4), ['e', 5]])\nd.setdefault('f')\nreturn d, d.popitem(), d, d.clear(), d",
		// what changes while it is iterated
		"l = [1, 2]\nfor x in l:\n    l.append(x)\nreturn l", "d = {'a': 1}\nfor k in d:\n    d['b'] = 2\nreturn d", "d = {'a': 1}\nfor k in d:\n    d['a'] = 2\nreturn d",
		"l = [1]\nfor x in l:\n    l += [2]\nreturn l", "l = [1, 2]\nr = [l.append(x) for x in l]\nreturn l", "d = {'a': 1}\nfor k in d.keys():\n    d.pop(k)\nreturn d",
		"l = [3, 1]\nreturn sorted(l, key = lambda x: l.append(1))", "d = {}\nfor x in d:\n    d |= {'a': 1}\nd |= {'b': 2}\nreturn d",
		// names
		"len = 5\nreturn len", "sorted = lambda x: 'mine'\nreturn sorted([2, 1])", "print('x', 1, sep = '')\nreturn None",
		"True_ = 1\nNone_ = 2\nreturn True_ + None_",
		"return undefined", "x = 1\ndef g():\n    return x\nx = 2\nreturn g()",
		"return [x for x in range(3)], x",
		"fail('no', 1, [2], sep = '-')", "fail()", "return 'a' 'b'", "return 1 < 2 < 3", "return (1 < 2) == True",
	} {
		agree(t, "def f():\n    "+strings.ReplaceAll(body, "\n", "\n    ")+"\nout = f()\n", false)
	}
	for _, text := range []string{
		"x = [1]\nx += [2]\nout = x\n", "x = 1\nx = 2\nout = x\n", "out = [1]\nout.append(2)\n", "def f(d = {'a': 1}):\n    return d['a'] + 1\nout = f()\n",
		"A = [1, 2]\ndef f():\n    A.append(3)\n    return A\nout = f()\n", "if True:\n    out = 1\n", "for x in [1]:\n    out = x\n", "while True:\n    pass\n",
		"load('x', 'y')\n", "out = 1; out2 = out + 1\n", "def f(x): return x * 2\nout = f(f(3))\n", "out = [f() for f in [lambda: 1]]\n", "\"\"\"doc\"\"\"\nout = 1 # comment\n",
		"def f():\n    '''doc'''\n    return 1\nout = f()\n",
	} {
		agree(t, text, false)
	}
}

func TestMessagesAsStarlark(t *testing.T) {
	for _, x := range []string{`"a" + 1`, `[] < {}`, `1 in 2`, `{"a": 1}["b"]`, `[1][4]`, `"x".nope()`, `int("z")`, `[1, 2].index(3)`, `{}.pop("k")`, `sorted([1, "a"])`, `"%d" % "x"`, `fail("no", 1)`, `1 // 0`} {
		agree(t, "out = "+x+"\n", true)
	}
}

// programs are random but valid in form; many of them fail when they run.
func programs() *rapid.Generator[string] {
	names := []string{"a", "b", "c", "d"}
	var expr func(t *rapid.T, depth int) string
	expr = func(t *rapid.T, depth int) string {
		if depth == 0 {
			return rapid.SampledFrom(append([]string{"0", "1", "-2", "3.5", "'x'", "'%s'", "'a,b'", "''", "[]", "{}", "()", "None", "True", "[1, 'x']", "{'k': 1}", "(1, 2)", "range(4)", "1 << 33"}, names...)).Draw(t, "leaf")
		}
		sub := func() string { return expr(t, depth-1) }
		switch rapid.IntRange(0, 13).Draw(t, "form") {
		case 0, 1, 2:
			op := rapid.SampledFrom([]string{"+", "-", "*", "/", "//", "%", "|", "&", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"}).Draw(t, "op")
			return "(" + sub() + " " + op + " " + sub() + ")"
		case 3:
			return "[" + sub() + ", " + sub() + "]"
		case 4:
			return "{" + sub() + ": " + sub() + "}"
		case 5:
			return sub() + "[" + sub() + "]"
		case 6:
			return sub() + "[" + sub() + ":" + rapid.SampledFrom([]string{"", "2", "-1", "::-1"}).Draw(t, "hi") + "]"
		case 7:
			return "[" + sub() + " for x in " + sub() + " if " + sub() + "]"
		case 8:
			return "{str(x): " + sub() + " for x in " + sub() + "}"
		case 9:
			fn := rapid.SampledFrom([]string{"len", "str", "repr", "sorted", "list", "tuple", "dict", "bool", "type", "max", "min", "any", "all", "enumerate", "reversed", "int", "float", "abs", "zip"}).Draw(t, "fn")
			return fn + "(" + sub() + ")"
		case 10:
			m := rapid.SampledFrom([]string{"upper", "split", "strip", "keys", "values", "items", "copy", "pop", "title", "elems"}).Draw(t, "method")
			return sub() + "." + m + "()"
		case 11:
			m := rapid.SampledFrom([]string{"append", "get", "join", "index", "count", "extend", "update", "startswith", "format", "replace", "find", "remove", "pop"}).Draw(t, "method")
			return sub() + "." + m + "(" + sub() + ")"
		case 12:
			return "(" + sub() + " if " + sub() + " else " + sub() + ")"
		}
		return "(lambda x: " + sub() + ")(" + sub() + ")"
	}
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		b.WriteString("def f():\n    a, b, c, d, x = 1, 'x', [1, 2], {'k': [1]}, 0\n")
		for range rapid.IntRange(1, 3).Draw(t, "statements") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			switch rapid.IntRange(0, 4).Draw(t, "statement") {
			case 0, 1:
				fmt.Fprintf(&b, "    %s = %s\n", name, expr(t, rapid.IntRange(0, 2).Draw(t, "depth")))
			case 2:
				op := rapid.SampledFrom([]string{"+", "-", "*", "%", "|", "//", "<<", "&"}).Draw(t, "op")
				fmt.Fprintf(&b, "    %s %s= %s\n", name, op, expr(t, rapid.IntRange(0, 2).Draw(t, "depth")))
			case 3:
				op := rapid.SampledFrom([]string{"", "+", "-", "*", "%", "|", "//", "<<"}).Draw(t, "op")
				fmt.Fprintf(&b, "    %s[%s] %s= %s\n", name, expr(t, 1), op, expr(t, rapid.IntRange(0, 2).Draw(t, "depth")))
			case 4:
				fmt.Fprintf(&b, "    for x in %s:\n        %s = %s\n", expr(t, 1), name, expr(t, rapid.IntRange(0, 2).Draw(t, "depth")))
			}
		}
		b.WriteString("    return a, b, c, d\nout = f()\n")
		return b.String()
	})
}

func TestRandomProgramsAsStarlark(t *testing.T) {
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			text := programs().Draw(t, "program")
			agree(t, text, false)
			if plainly(text).value != "" {
				ran++
			}
		}
	})
	least := 50
	if testing.Short() { // a fifth of the checks
		least = 10
	}
	if ran < least {
		t.Errorf("only %d programs ran to the end", ran)
	}
}
