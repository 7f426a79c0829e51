package star

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"github.com/agentbound/agentbound"
)

const (
	tooMany = "too many steps"
	text    = "a text of"
	items   = "a collection of"
	digits  = "a number of"
	parts   = "a value of more than"
	deep    = "nested deeper than 64 levels"
	fine    = "" // ends by itself, within the bounds
)

// Tools that want more than their share: the body of f(state), what stops it ("" if
// it ends by itself) and the most steps that it may take until then (0 for the limit).
var hostile = []struct {
	name, body, want string
	steps            uint64
}{
	// values that one operation makes large
	{"repeat a list", "return [0] * (1 << 27)", items, 100},
	{"repeat a tuple", "return (0,) * (1 << 27)", items, 100},
	{"repeat a text", "return 'x' * (1 << 27)", text, 100},
	{"repeat bytes", "return b'x' * (1 << 27)", text, 100},
	{"repeat from the left", "return (1 << 27) * [0]", items, 100},
	{"repeat by a huge number", "return [0] * (1 << 400)", items, 100},
	{"repeat by a huge negative number", "return [0] * -(1 << 400)", "repeat count", 100},
	{"repeat in place", "x = [0]\nx *= 1 << 27\nreturn x", items, 100},
	{"repeat in place in an object", "state['x'] = [0]\nstate['x'] *= 1 << 27", items, 100},
	{"repeat in a target", "([0] * (1 << 27)).x = 1", items, 100},
	{"repeat in an augmented target", "([0] * (1 << 27)).x += 1", items, 100},
	{"repeat in an index of a target", "state[[0] * (1 << 27)] = 1", items, 100},
	{"repeat in a loop's target", "for ([0] * (1 << 27)).x in [1]:\n    pass", items, 100},
	{"repeat in a comprehension's target", "return [1 for ([0] * (1 << 27)).x in [1]]", items, 100},
	{"repeat in a default", "def g(x = [0] * (1 << 27)):\n    return x\nreturn g()", items, 100},
	{"repeat in a lambda's default", "return (lambda x = [0] * (1 << 27): x)()", items, 100},
	{"repeat in a slice's bound", "return 'abc'[len([0] * (1 << 27)):]", items, 100},
	{"repeat in an argument after a star", "return max(*([0] * (1 << 27)))", items, 100},
	{"repeat in keywords after two stars", "return dict(**{'x': [0] * (1 << 27)})", items, 100},
	{"repeat in a condition", "return 1 if [0] * (1 << 27) else 2", items, 100},
	{"repeat under not", "return not [0] * (1 << 27)", items, 100},
	{"repeat as an operand of and", "return True and [0] * (1 << 27)", items, 100},
	{"repeat beside an unchecked operator", "return ([0] * (1 << 27)) / 2", items, 100},
	{"list of a range", "return list(range(1 << 30))", items, 100},
	{"tuple of a range", "return tuple(range(1 << 30))", items, 100},
	{"sorted range", "return sorted(range(1 << 30))", items, 100},
	{"reversed range", "return reversed(range(1 << 30))", items, 100},
	{"enumerated range", "return enumerate(range(1 << 30))", items, 100},
	{"zipped range", "return zip(range(1 << 30), range(1 << 30))", items, 100},
	{"maximum of a range", "return max(range(1 << 40))", items, 100},
	{"any of a range", "return any(range(0, 1 << 40, 1 << 40))", fine, 100},
	{"bytes of a range", "return len(bytes(range(1 << 30)))", items, 100},
	{"object of a range", "return dict(range(1 << 30))", items, 100},
	{"spread of a range", "return max(*range(1 << 30))", items, 100},
	{"extend by a range", "x = []\nx.extend(range(1 << 30))", items, 100},
	{"augment by a range", "x = []\nx += range(1 << 30)", items, 100},
	{"update by a range", "{}.update(range(1 << 30))", items, 100},
	{"join a range", "return ''.join(range(1 << 30))", "want string, got int", 100},
	{"a range is cheap", "return len(range(1 << 40)), (1 << 39) in range(1 << 40), range(1 << 40)[5]", fine, 100},
	{"slice a range to step 0", "return range(0, 10, 1 << 62)[::4]", "interpreter broke", 100},
	{"slice a range again and again", "r = range(0, 1 << 30, 1 << 16)\nfor i in range(8):\n    r = r[::1 << 16]\nreturn str(r)", "interpreter broke", 1000},
	{"a range that overflows", "r = range(-(1 << 62), (1 << 62) + (1 << 61) + (1 << 60), 1)\nreturn list(r), zip(r, r), enumerate(r), reversed(r), tuple(r)", fine, 1000},
	{"iterate over a huge range", "for i in range(1 << 40):\n    pass", tooMany, 0},

	// texts
	{"double a text", "s = 'x'\nfor i in range(60):\n    s += s\nreturn s", text, 50000},
	{"double a text by repeating", "s = 'x'\nfor i in range(60):\n    s = s * 2\nreturn s", text, 50000},
	{"double a text by replacing", "s = 'x'\nfor i in range(60):\n    s = s.replace('x', 'xx')\nreturn s", text, 0},
	{"replace nothing", "s = 'x' * 1000\nreturn s.replace('', s)", text, 5000},
	{"double a text by joining", "s = 'x'\nfor i in range(60):\n    s = s.join([s, s])\nreturn s", text, 0},
	{"double a text by format", "s = 'x'\nfor i in range(60):\n    s = '{0}{0}'.format(s)\nreturn s", text, 0},
	{"double a text by a named format", "s = 'x'\nfor i in range(60):\n    s = '{a}{a}'.format(a = s)\nreturn s", text, 0},
	{"double a text by %", "s = 'x'\nfor i in range(60):\n    s = '%s%s' % (s, s)\nreturn s", text, 0},
	{"double a text by % in place", "s = '%s%s'\nfor i in range(60):\n    s %= (s, s)\nreturn s", "", 0},
	{"repeat a text by %(name)s", "return len('%(a)s' * 4000 % {'a': 'x' * 100000})", text, 50000},
	{"repeat a text by {0}", "return len(('{0}' * 4000).format('x' * 100000))", text, 50000},
	{"quote and quote again", "s = '\\\\'\nfor i in range(60):\n    s = repr(s)\nreturn s", text, 0},
	{"quote by %r", "s = '\\\\'\nfor i in range(60):\n    s = '%r%r' % (s, s)\nreturn s", text, 0},
	{"quote a list", "s = ['\\\\']\nfor i in range(60):\n    s = [str(s)]\nreturn s", text, 0},
	{"join an object's keys", "d = {str(i): 1 for i in range(9000)}\nreturn len(('x' * 200000).join(d))", text, 0},
	{"join characters", "return len(('x' * 200000).join(('y' * 200000).codepoints()))", text, 100000},
	{"join elements", "return len(('x' * 200000).join(('y' * 200000).elems()))", text, 100000},
	{"join with a method kept", "j = ('x' * 200000).join\nreturn [len(j(['a'] * 1000)) for i in range(100)]", text, 100000},
	{"join with a method of a list kept", "m = [('x' * 200000).join, 'a'.replace]\nreturn m[1]('a', m[0](['y'] * 1000))", text, 100000},
	{"broken text grows when capitalised", "s = 'é'[0] * 200000\nfor i in range(9):\n    s = s.capitalize().title().upper().lower()\nreturn len(s)", fine, 0},
	{"fail at length", "fail('x' * 200000, 'x' * 200000)", text, 50000},
	{"fail with a long separator", "fail(*([''] * 8000), sep = 'x' * 60000)", "syntax", 0},
	{"fail with a long separator in an object", "fail(*([''] * 8000), **{'sep': 'x' * 60000})", text, 50000},
	{"print at length", "for i in range(100):\n    print(*(['x' * 200000] * 8000), **{'sep': 'x' * 60000})", fine, 0},
	{"names of functions", "def " + strings.Repeat("n", 50000) + "():\n    pass\nreturn len(str([" + strings.Repeat("n", 50000) + "] * 9000))", "", 0},
	{"names of functions by %", "def " + strings.Repeat("n", 50000) + "():\n    pass\nreturn len('%s' * 9000 % ((" + strings.Repeat("n", 50000) + ",) * 9000))", "", 0},
	{"print the characters of a text", "e = ('x' * 200000).elems()\nreturn len(str([e] * 9000))", "", 0},
	{"print large floats", "return len('%f' * 60000 % ((1e308,) * 60000))", text, 0},
	{"print floats as numbers", "return len('%d' * 60000 % ((1e308,) * 60000))", text, 0},
	{"print large numbers", "return len(str([1 << 500] * 60000))", "", 0},
	{"strip by a long cutset", "s = 'é' * 100000\nc = 'x' * 200000 + 'é'\nreturn [s.strip(c) for i in range(100)]", tooMany, 0},
	{"many prefixes", "s = 'x' * 200000\nt = tuple([s + 'y'] * 10000)\nreturn [s.startswith(t) for i in range(1000)]", "", 0},
	{"search and search", "s = 'a' * 200000\nt = 'a' * 100000 + 'b'\nreturn [(t in s, s.find(t), s.rfind(t), s.count(t)) for i in range(1000)]", tooMany, 0},
	{"split, kept", "s = ',' * 200000\nreturn [s.split(',') for i in range(1000)]", tooMany, 0},
	{"split at spaces, room for many", "return 'a b'.rsplit(None, 1 << 30)", "splits are accepted", 1000},
	{"split at spaces, no room at all", "return 'a b'.rsplit(None, 1 << 62)", "splits are accepted", 1000},
	{"split at a huge number", "return 'a b'.split(None, 1 << 400)", "splits are accepted", 1000},
	{"split negative", "return 'a b'.rsplit(None, -(1 << 40)), 'a b'.split(' ', -(1 << 40))", fine, 1000},
	{"lists of characters", "c = ('y' * 60000).codepoints()\nreturn len([list(c) for i in range(1000)])", tooMany, 0},
	{"lists of more characters", "c = ('y' * 200000).codepoints()\nreturn len([list(c) for i in range(1000)])", items, 100000},
	{"lists of bytes", "c = (b'y' * 60000).elems()\nreturn len([list(c) for i in range(1000)])", tooMany, 0},
	{"extend by characters", "c = ('y' * 200000).codepoint_ords()\nl = []\nl.extend(c)", items, 100000},
	{"spread characters", "return max(*('y' * 200000).codepoints())", items, 100000},
	{"iterate over characters", "for i in range(1000):\n    for c in ('y' * 200000).elems():\n        pass", tooMany, 0},
	{"slices of a text, kept", "s = 'x' * 200000\nreturn len([s[::-1] for i in range(100000)])", tooMany, 0},
	{"hash a text", "s = 'x' * 200000\nreturn [hash(s) for i in range(100000)]", tooMany, 0},
	{"compare texts", "s = 'x' * 200000\nt = 'x' * 200000\nreturn [s == t for i in range(100000)]", tooMany, 0},
	{"long keys", "s = 'x' * 200000\nd = {s: 1}\nreturn [d[s] for i in range(100000)]", tooMany, 0},
	{"long keys by get", "s = 'x' * 200000\nd = {s: 1}\nreturn [d.get(s) for i in range(100000)]", tooMany, 0},
	{"long keys by in", "s = 'x' * 200000\nd = {s: 1}\nreturn [s in d for i in range(100000)]", tooMany, 0},
	{"long keys in a literal", "s = 'x' * 200000\nreturn [{s: 1} for i in range(100000)]", tooMany, 0},

	// lists, tuples, objects
	{"double a list", "l = [0]\nfor i in range(60):\n    l += l\nreturn l", items, 0},
	{"double a list by extend", "l = [0]\nfor i in range(60):\n    l.extend(l)\nreturn l", items, 0},
	{"double a list with a method kept", "l = [0]\ne = l.extend\nfor i in range(60):\n    e(l)\nreturn l", items, 0},
	{"double a list by +", "l = [0]\nfor i in range(60):\n    l = l + l\nreturn l", items, 0},
	{"double a list in an object", "state['l'] = [0]\nfor i in range(60):\n    state['l'] += state['l']", items, 0},
	{"double a list in a list", "l = [[0]]\nfor i in range(60):\n    l[0] += l[0]\nreturn l", items, 0},
	{"double a tuple", "t = (0,)\nfor i in range(60):\n    t += t\nreturn t", items, 0},
	{"append for ever", "l = []\nfor i in range(1 << 40):\n    l.append(0)", "", 0},
	{"insert for ever", "l = []\nfor i in range(1 << 40):\n    l.insert(0, 0)", tooMany, 0},
	{"pop from the front", "l = [0] * 60000\nfor i in range(1 << 40):\n    l.insert(0, l.pop(0))", tooMany, 0},
	{"comprehension bomb", "return [0 for a in range(1000) for b in range(1000) for c in range(1000)]", tooMany, 0},
	{"nested comprehension bomb", "return [[[0 for c in range(1000)] for b in range(1000)] for a in range(1000)]", tooMany, 0},
	{"object comprehension bomb", "return {str(a) + str(b): 0 for a in range(1000) for b in range(1000)}", tooMany, 0},
	{"empty objects", "return len([{} for i in range(1 << 30)])", tooMany, 0},
	{"empty objects in a literal", "return len([[" + strings.Repeat("{},", 4000) + "] for i in range(1 << 30)])", tooMany, 0},
	{"small objects in a literal", "return len([[" + strings.Repeat("{1:1},", 1000) + "] for i in range(1 << 30)])", tooMany, 0},
	{"empty lists in a literal", "return len([[" + strings.Repeat("[],", 4000) + "] for i in range(1 << 30)])", tooMany, 0},
	{"objects by dict", "return len([dict() for i in range(1 << 30)])", tooMany, 0},
	{"copies of an object", "d = {str(i): i for i in range(5000)}\nreturn len([dict(d) for i in range(1 << 30)])", tooMany, 0},
	{"unions of an object", "d = {str(i): i for i in range(5000)}\nreturn len([d | d for i in range(1 << 30)])", tooMany, 0},
	{"unions that double", "d = {'0': 0}\nfor i in range(40):\n    d = d | {str(i) + k: 0 for k in d}\nreturn d", tooMany, 0},
	{"items of an object, kept", "d = {str(i): i for i in range(5000)}\nreturn len([d.items() for i in range(1 << 30)])", tooMany, 0},
	{"keys and values, kept", "d = {str(i): i for i in range(5000)}\nreturn len([(d.keys(), d.values()) for i in range(1 << 30)])", tooMany, 0},
	{"update with itself", "d = {str(i): i for i in range(5000)}\nfor i in range(1 << 30):\n    d.update(d)", tooMany, 0},
	{"clear a once large object", "d = {str(i): i for i in range(20000)}\nfor i in range(1 << 30):\n    d.clear()", tooMany, 0},
	{"setdefault and popitem", "d = {}\nfor i in range(1 << 30):\n    d.setdefault(str(i), [])\n    if i % 2:\n        d.popitem()", tooMany, 0},
	{"rows of a wide zip", "l = [0] * 250\nreturn len([zip(*([l] * 250)) for i in range(1 << 30)])", tooMany, 0},
	{"enumerate, kept", "l = [0] * 30000\nreturn len([enumerate(l) for i in range(1 << 30)])", tooMany, 0},
	{"slices of a list, kept", "l = [0] * 60000\nreturn len([l[:] for i in range(1 << 30)])", tooMany, 0},
	{"bound methods, kept", "l = []\nreturn len([l.append for i in range(1 << 30)])", tooMany, 0},
	{"closures, kept", "return len([lambda: i for i in range(1 << 30)])", tooMany, 0},
	{"unpack a long list", "l = [0] * 60000\nfor i in range(1 << 30):\n    a, b = l", "too many values", 200000},

	// shared parts: small to make, endless to walk
	{"thicket through str", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn str(l)", parts, 10000},
	{"thicket through repr", "l = [0]\nfor i in range(60):\n    l = {'a': l, 'b': l}\nreturn repr(l)", parts, 10000},
	{"thicket through %", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn '%s' % l", parts, 10000},
	{"thicket through a tuple and %", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn '%s' % (l,)", parts, 10000},
	{"thicket through format", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn '{}'.format(l)", parts, 10000},
	{"thicket through fail", "l = [0]\nfor i in range(60):\n    l = [l, l]\nfail(l)", parts, 10000},
	{"thicket through print", "l = [0]\nfor i in range(60):\n    l = [l, l]\nprint(l)", fine, 10000},
	{"thicket through ==", "l, m = [0], [0]\nfor i in range(60):\n    l, m = [l, l], [m, m]\nreturn l == m", parts, 10000},
	{"thicket through <", "l, m = (0,), (0,)\nfor i in range(60):\n    l, m = (l, l), (m, m)\nreturn l < m", parts, 10000},
	{"thicket through in", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn l in [l, l]", parts, 10000},
	{"thicket through index", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn [l, l].index(l)", parts, 10000},
	{"thicket through remove", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn [l, l].remove(l)", parts, 10000},
	{"thicket through sorted", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn sorted([l, l])", parts, 10000},
	{"thicket through max", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn max(l, l)", parts, 10000},
	{"thicket as a sort key", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn sorted([1, 2], key = lambda x: l)", parts, 10000},
	{"thicket as a key", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nreturn {t: 1}", parts, 10000},
	{"thicket as an index", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nreturn {}[t]", parts, 10000},
	{"thicket as a key to set", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nstate[t] = 1", parts, 10000},
	{"thicket as a key to augment", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nstate[t] += 1", parts, 10000},
	{"thicket as a key in a comprehension", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nreturn {k: 1 for k in [t]}", parts, 10000},
	{"thicket through in an object", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nreturn t in {'a': 1}", parts, 10000},
	{"thicket through get", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nreturn {'a': 1}.get(t)", parts, 10000},
	{"thicket through setdefault", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nreturn {'a': 1}.setdefault(t)", parts, 10000},
	{"thicket through dict", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nreturn dict([(t, 1)])", parts, 10000},
	{"thicket through update", "t = (0,)\nfor i in range(60):\n    t = (t, t)\n{}.update([[t, 1]])", parts, 10000},
	{"thicket through |", "t = (0,)\nfor i in range(60):\n    t = (t, t)\nreturn {'a': 1} | dict(zip([t], [1]))", parts, 10000},
	{"thicket of popitem", "t = 0\nfor i in range(60):\n    t = ({1: t}.popitem(), {1: t}.popitem())\nreturn {t: 1}", deep, 10000},
	{"thicket of zip", "t = 0\nfor i in range(60):\n    t = zip([t], [t])[0]\nreturn {t: 1}", parts, 10000},
	{"thicket of enumerate and +", "t = (0,)\nfor i in range(60):\n    t = enumerate([t])[0] + enumerate([t])[0]\nreturn {t: 1}", parts, 10000},
	{"thicket of items", "t = 0\nfor i in range(60):\n    t = {1: {2: t}.items()[0]}.items() + {1: {2: t}.items()[0]}.items()\nreturn str(t)", deep, 20000},
	{"thicket observed", "l = [0]\nfor i in range(60):\n    l = [l, l]\nreturn l", "the observation: larger than 65536 values", 10000},
	{"thicket in the state", "l = [0]\nfor i in range(60):\n    l = [l, l]\nstate['l'] = l", "the state: larger than 65536 values", 10000},
	{"wide thicket in the state", "state['l'] = [[{}] * 60000] * 60000", "the state: larger than 65536 values", 200000},
	{"long texts in the state", "state['l'] = ['x' * 200000] * 60000", "the state: larger than 4194304 bytes", 200000},
	{"escapes in the state", "state['l'] = ['\\x01' * 200000] * 20", "the state: larger than 4194304 bytes", 200000},
	{"long texts observed", "return ['x' * 200000] * 60000", "the observation: larger than 4194304 bytes", 200000},
	{"a wide tuple as a key", "t = tuple([0] * 60000)\nd = {t: 1}\nreturn [d[t] for i in range(1 << 30)]", tooMany, 0},
	{"a wide tuple of texts as a key", "t = ('x' * 200000,) * 60000\nreturn {t: 1}", parts, 200000},

	// keys with one hash
	{"numbers that collide", "d = {}\nfor i in range(1 << 30):\n    d[i << 32] = 1", tooMany, 0},
	{"floats that collide", "d = {}\nfor i in range(1 << 30):\n    d[i / (1 << 31)] = 1", tooMany, 0},
	{"numbers that collide in a comprehension", "return {i << 32: 1 for i in range(1 << 30)}", tooMany, 0},
	{"numbers that collide in pairs", "return dict([(i << 32, 1) for i in range(50000)])", tooMany, 0},
	{"numbers that collide in setdefault", "d = {}\nfor i in range(1 << 30):\n    d.setdefault(i << 32)", tooMany, 0},
	{"functions that collide", "d = {}\nfor i in range(1 << 30):\n    d[lambda: i] = 1", tooMany, 0},
	{"numbers in one bucket", "d = {}\nfor i in range(1 << 30):\n    d[i << 16] = 1", tooMany, 0},
	{"small numbers in one bucket", "d = {i << 9: 1 for i in range(2000)}\nreturn len([d[1999 << 9] for i in range(80000)])", fine, 0},

	// numbers
	{"square", "x = 3\nfor i in range(60):\n    x *= x\nreturn x", digits, 2000},
	{"shift", "x = 1\nfor i in range(60):\n    x = x << 500\nreturn x", digits, 2000},
	{"add", "x = 1\nfor i in range(1 << 30):\n    x += x\nreturn x", digits, 0},
	{"subtract a negative", "x = 1\nfor i in range(1 << 30):\n    x -= -x\nreturn x", digits, 0},
	{"subtract to the left", "x = 1\nfor i in range(1 << 30):\n    x = x - -x\nreturn x", digits, 0},
	{"divide what was subtracted", "x, y = 1, 1\nfor i in range(50000):\n    x, y = x - (0 - x), x\nreturn x // y", digits, 0},
	{"a long literal", "return 1" + strings.Repeat("0", 2000) + " // 3", "syntax", 0},
	{"a long text as a number", "return int('9' * 200000)", digits, 50000},
	{"a long text in base 36", "return int('z' * 1200, 36) // 7 > 1", fine, 1000},
	{"a long text as a float", "return float('9' * 200000)", digits, 50000},
	{"a large float as a number", "return int(1e308) * int(1e308) // 3 > 5", fine, 1000},
	{"a number too large to store", "return int('z' * 1200, 36)", "the observation: a number of more than 4096 bits", 1000},
	{"a sum of numbers one by one", "x = (1 << 500) * (1 << 500)\nfor i in range(1 << 30):\n    x = x + 1", tooMany, 0},

	// depth
	{"deep through str", "l = []\nfor i in range(100000):\n    l = [l]\nreturn str(l)", deep, 0},
	{"deep through ==", "l, m = [], []\nfor i in range(50000):\n    l, m = [l], [m]\nreturn l == m", deep, 0},
	{"deep as a key", "t = ()\nfor i in range(100000):\n    t = (t,)\nreturn {t: 1}", deep, 0},
	{"deep observed", "l = []\nfor i in range(100000):\n    l = [l]\nreturn l", "the observation: " + deep, 0},
	{"deep in the state", "l = []\nfor i in range(100000):\n    l = [l]\nstate['l'] = l", "the state: " + deep, 0},
	{"deep objects in the state", "for i in range(20000):\n    state = {'a': state}\nreturn state", "the observation: " + deep, 0},
	{"deep closures", "g = lambda: 0\ndef mk(h):\n    return lambda: h\nfor i in range(100000):\n    g = mk(g)\nreturn len(str(g))", fine, 0},
	{"cycle in the state", "state['s'] = state", "the state: " + deep, 100},
	{"cycle of a list in the state", "l = []\nl.append(l)\nstate['l'] = l", "the state: " + deep, 100},
	{"cycle observed", "l = []\nl.append(l)\nreturn l", "the observation: " + deep, 100},
	{"cycle through str", "l = []\nl.append(l)\nreturn str(l)", deep, 100},
	{"cycle through ==", "l, m = [], []\nl.append(m)\nm.append(l)\nreturn l == m", deep, 100},
	{"recursion", "return f(state)", "called recursively", 100},
	{"recursion through a list", "l = []\ng = lambda: l[0]()\nl.append(g)\nreturn g()", "called recursively", 100},
	{"recursion through sorted", "l = []\ng = lambda x: sorted([1], key = l[0])\nl.append(g)\nreturn g(1)", "called recursively", 100},
	{"fixed point", "return (lambda h: h(h))(lambda h: h(h))", "called recursively", 100},

	// functions called by built-ins
	{"a sort key that loops", "def g(x):\n    for i in range(1 << 40):\n        pass\nreturn sorted([2, 1], key = g)", tooMany, 0},
	{"a max key that loops", "def g(x):\n    for i in range(1 << 40):\n        pass\nreturn max([2, 1], key = g)", tooMany, 0},
	{"sort keys that are long to compare", "big = [0] * 60000\nreturn len(sorted(range(10000), key = lambda i: big))", tooMany, 0},
	{"sort keys, positional", "big = [0] * 60000\nreturn len(sorted(range(10000), lambda i: big))", tooMany, 0},
	{"max keys that are long to compare", "big = [0] * 60000\nreturn max(range(10000), key = lambda i: big)", tooMany, 0},
	{"long items to compare", "big = [0] * 60000\nreturn sorted([list(big) for i in range(10)])", parts, 0},
	{"long texts to compare", "return [sorted(['x' * 200000 + str(i) for i in range(30)]) for j in range(100)]", parts, 0},
	{"texts to compare", "return [sorted(['x' * 100000 + str(i) for i in range(30)]) for j in range(100)]", tooMany, 0},
	{"a large frame for each call", "def g():\n    if False:\n        return [" + strings.Repeat("0,", 7000) + "]\nfor i in range(1 << 30):\n    g()", tooMany, 0},

	// what does not exist, or not here
	{"getattr", "return getattr([], 'append')", "getattr is not available", 100},
	{"hasattr", "return hasattr([], 'append')", "hasattr is not available", 100},
	{"dir", "return dir([])", "dir is not available", 100},
	{"set", "return set([1])", "set is not available", 100},
	{"declare a tool in a call", "tool(f, 'again')", "while its file is loaded", 100},
	{"an argument's type observed", "return string('x')", "a argument has no JSON form", 100},

	// results without a JSON form
	{"return a function", "return f", "a function has no JSON form", 100},
	{"return a built-in", "return [len]", "a builtin_function_or_method has no JSON form", 100},
	{"return a range", "return range(3)", "a range has no JSON form", 100},
	{"return bytes", "return b'x'", "a bytes has no JSON form", 100},
	{"return NaN", "return float('nan')", "NaN has no JSON form", 100},
	{"return infinity", "return 1e308 * 10", "+Inf has no JSON form", 100},
	{"return a key that is no text", "return {1: 2}", "key must be a string, found a int", 100},
	{"return a key that is broken", "return {'é'[0]: 2}", "key must be UTF-8", 100},
	{"keep a function", "state['f'] = f", "the state: a function has no JSON form", 100},
	{"keep infinity", "state['f'] = [float('inf')]", "the state: +inf has no JSON form", 100},
	{"keep a key that is no text", "state[(1, 2)] = 1", "the state: an object's key must be a string, found a tuple", 1000},
	{"keep a broken key", "state['é'[1]] = 1", "the state: an object's key must be UTF-8", 100},
	{"keep a method", "state['f'] = state.get", "has no JSON form", 100},

	// what may not be changed
	{"change while iterating", "for k in state['list']:\n    state['list'].append(k)", "during iteration", 100},
	{"change an object while iterating", "for k in state:\n    state['new'] = 1", "during iteration", 100},
	{"augment while iterating", "for k in state['list']:\n    state['list'] += [1]", "during iteration", 100},
	{"change a global", "GLOBAL.append(1)", "frozen", 100},
	{"augment a global's item", "TABLE['a'] += [1]", "frozen", 100},
	{"union into a global", "t = TABLE\nt |= {'x': 1}", "frozen", 100},
	{"change a default", "def g(l = GLOBAL):\n    l.append(1)\ng()", "frozen", 100},
}

func TestHostileTools(t *testing.T) {
	s := state(t, `{"list":[1,2]}`)
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			source := "GLOBAL = [0]\nTABLE = {'a': [0]}\ndef f(state):\n    " + strings.ReplaceAll(c.body, "\n", "\n    ") + "\ntool(f, 'F.')\n"
			k, err := LoadKit([]agentbound.Source{{Name: "t.star", Text: source}})
			if c.want == "syntax" {
				if err == nil || !strings.HasPrefix(err.Error(), "t.star:4:") && !strings.HasPrefix(err.Error(), "t.star:5:") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			before := measure()
			start := time.Now()
			r, err := k.Call(context.Background(), s, agentbound.Call{Tool: "f", Args: agentbound.Value(`{}`)})
			took := time.Since(start)
			if err != nil {
				t.Fatal(err)
			}
			before.check(t)
			if took > time.Second {
				t.Logf("took %v", took) // for who reads it; machines differ
			}
			got := string(r.Observation)
			switch {
			case r.OK != (r.Fault == FaultNone):
				t.Errorf("ok %v with fault %q", r.OK, r.Fault)
			case c.want != fine && (r.Fault != FaultProgram || !strings.Contains(got, c.want)):
				t.Errorf("%s: got %q %.300s, want %q", c.name, r.Fault, got, c.want)
			case c.want == fine && !r.OK && !slowly(got):
				t.Errorf("got %q %.300s", r.Fault, got)
			}
			if now := textOf(t, s); now != `{"list":[1,2]}` || !r.OK && textOf(t, r.After) != now {
				t.Errorf("the state became %s", now)
			}
			if c.steps == 0 {
				return // the limit is what stops it, if anything
			}
			if steps := spent(k, s); steps > c.steps {
				t.Errorf("%d steps, at most %d were expected", steps, c.steps)
			}
		})
	}
}

// slowly reports one of the refusals: some of the cases that are listed as fine or
// with several ways to end may meet any of them.
func slowly(observation string) bool {
	for _, s := range []string{tooMany, text, items, digits, parts, deep, "for format string"} {
		if strings.Contains(observation, s) {
			return true
		}
	}
	return false
}

// spent are the steps of a call of f.
func spent(k *Kit, s State) (steps uint64) {
	thread := newThread("f")
	defer func() { recover(); steps = thread.Steps }() //nolint:errcheck // a panic is one of the cases
	_, _ = starlark.Call(thread, k.byName["f"].fn, starlark.Tuple{must(copyTree(s.v))}, nil)
	return thread.Steps
}

type memory struct{ heap, total uint64 }

func measure() memory {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{m.HeapSys - m.HeapReleased, m.TotalAlloc}
}

// check bounds the memory that the heap ever took from the system since.
func (m memory) check(t *testing.T) {
	t.Helper()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	if grown := int64(now.HeapSys-now.HeapReleased) - int64(m.heap); grown > 512<<20 {
		t.Errorf("the heap took %d MB", grown>>20)
	}
	if total := now.TotalAlloc - m.total; total > 8<<30 {
		t.Errorf("%d MB were allocated in all", total>>20)
	}
}

// Files that do too much while they are loaded.
func TestHostileFiles(t *testing.T) {
	long := strings.Repeat
	for _, c := range []struct{ name, text, want string }{
		{"loop", "def g():\n    for i in range(1 << 40):\n        pass\ng()\n", "t.star:2:5: "},
		{"comprehension", "X = [0 for i in range(1 << 40)]\n", tooMany},
		{"repeat", "X = [0] * (1 << 27)\n", "t.star:1:9: a collection of"},
		{"while", "while True:\n    pass\n", "t.star:1:1: while is not available"},
		{"load", "load('x.star', 'y')\n", "t.star:1:1: load is not available"},
		{"load in a function", "def f():\n    load('x.star', 'y')\n", "t.star:2:5: load is not available"},
		{"recursion", "def f(n):\n    return f(n)\nf(1)\n", "called recursively"},
		{"a function that keeps itself", "def mk():\n    def h():\n        return h\n    return h\nH = mk()\n", "refers to itself"},
		{"functions that keep each other", "def mk():\n    def a():\n        return b\n    def b():\n        return a\n    return [a]\nH = mk()\n", "refers to itself"},
		{"a tool that keeps itself", "def mk():\n    def h(state):\n        return h\n    return h\ntool(mk(), 'H.')\n", "refers to itself"},
		{"a method in a cycle", "L = []\nL.append(L.append)\n", ""},
		{"a cycle of lists", "L = []\nL.append(L)\n", ""},
		{"thicket of tuples", "def mk():\n    t = ()\n    for i in range(60):\n        t = (t, t)\n    return t\nT = mk()\n", "a value of more than"},
		{"thicket of functions", "def pair(a, b):\n    return lambda: (a, b)\ndef mk():\n    g = len\n    for i in range(60):\n        g = pair(g, g)\n    return g\nT = mk()\n", "a value of more than"},
		{"thicket of lists", "def mk():\n    t = []\n    for i in range(60):\n        t = [t, t]\n    return t\nT = mk()\n", ""},
		{"deep tuples", "def mk():\n    t = ()\n    for i in range(90000):\n        t = (t,)\n    return t\nT = mk()\n", "nested too deep"},
		{"deep lists", "def mk():\n    t = []\n    for i in range(90000):\n        t = [t]\n    return t\nT = mk()\n", "nested too deep"},
		{"thicket of types", "def f(state, a):\n    pass\ndef mk():\n    t = object('x')\n    for i in range(60):\n        t = object('x', a = t, b = t)\n    return t\ntool(f, 'F.', a = mk())\n", "more than 1000 fields"},
		{"deep types", "def f(state, a):\n    pass\ndef mk():\n    t = object('x')\n    for i in range(500):\n        t = object('x', a = t)\n    return t\ntool(f, 'F.', a = mk())\n", "nested deeper"},
		{"thicket as a default", "def f(state, a):\n    pass\ndef mk():\n    t = ['x']\n    for i in range(60):\n        t = [t, t]\n    return t\ntool(f, 'F.', a = string('x', default = mk()))\n", "the default is a list"},
		{"thicket as a default of the right type", "def f(state, a):\n    pass\ndef mk():\n    t = {}\n    for i in range(60):\n        t = {'a': t, 'b': t}\n    return t\ntool(f, 'F.', a = object('x', default = mk()))\n", "larger than 65536"},
		{"values of an enumeration", "def g():\n    return [enum(('y' * 60000).codepoints()) for i in range(1000)]\ng()\n", "more than 1000 values"},
		{"a long source", "#" + long("x", MaxSource) + "\n", "bytes of source"},
		{"nested brackets", "X = " + long("[", 100000) + long("]", 100000) + "\n", "t.star:1:82: excessive nesting"},
		{"nested parentheses", "X = " + long("(", 100000) + "1" + long(")", 100000) + "\n", "excessive nesting"},
		{"unary operators", "X = " + long("-", 200000) + "1\n", "excessive nesting"},
		{"unary operators in words", "X = " + long("not ", 60000) + "1\n", "excessive nesting"},
		{"lambdas", "X = " + long("lambda:", 30000) + "1\n", "excessive nesting"},
		{"conditions", "X = " + long("1 if 1 else ", 20000) + "1\n", "excessive nesting"},
		{"blocks", "def f():\n" + func() string {
			var b strings.Builder
			for i := range 500 {
				b.WriteString(long(" ", i+1) + "if 1:\n")
			}
			return b.String() + long(" ", 501) + "pass\n"
		}(), ""},
		{"a sum of many", "X = " + long("1 + ", 60000) + "1\n", ""},
		{"a text sum of many", "X = " + long("'' + ", 50000) + "''\n", ""},
		{"suffixes", "X = lambda: 1" + long("()", 2000) + "\n", ""},
		{"more suffixes than a function has parts", "X = lambda: 1" + long("()", 60000) + "\n", "a function of more than"},
		{"branches", "def f():\n    if 1:\n        pass\n" + long("    elif 1: pass\n", 2000), ""},
		{"more branches", "def f():\n    if 1:\n        pass\n" + long("    elif 1: pass\n", 14000), "a function of more than"},
		{"or", "X = " + long("0 or ", 50000) + "1\n", ""},
		{"many functions", long("lambda: 1\n", 501), "more than 500 functions"},
		{"many parameters", "def f(" + many("a%d", 256) + "):\n    pass\n", "more than 255 parameters"},
		{"many arguments", "X = max(" + long("1, ", 256) + ")\n", "limit is 255"},
		{"many arguments of a method", "X = ''.join(" + long("1, ", 255) + ")\n", "limit is 255"},
		{"many undefined names", many("u%d\n", 20000), "undefined: u0"},
		{"undefined among many defined", many("d%d = 1\n", 6000) + many("u%d\n", 6000), "undefined: u0"},
		{"star parameters", "def f(*a):\n    pass\n", "t.star:1:7: *args"},
		{"star parameters of a lambda", "X = [lambda **k: k]\n", "t.star:1:13: *args"},
		{"a long number", "X = 0x1" + long("0", 2000) + "\n", "t.star:1:5: a number of more than 4096 bits"},
		{"broken text", "X = '\xff'\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, start := measure(), time.Now()
			_, err := LoadKit([]agentbound.Source{{Name: "t.star", Text: c.text}})
			if took := time.Since(start); took > time.Second {
				t.Logf("took %v", took)
			}
			before.check(t)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %.300v, want %q", err, c.want)
			}
		})
	}
}

func many(format string, n int) string {
	var b strings.Builder
	for i := range n {
		if fmt.Fprintf(&b, format, i); !strings.HasSuffix(format, "\n") {
			b.WriteString(",")
		}
	}
	return b.String()
}

func TestHostilePredicates(t *testing.T) {
	s := state(t, `{"list":[1,2],"text":"abc"}`)
	env := Env{Start: s, Before: s, After: s}
	for _, c := range []struct{ name, expr, want string }{
		{"repeat", "[0] * (1 << 27) == []", items},
		{"loop", "any([True for i in range(1 << 40)])", tooMany},
		{"lambda", "(lambda h: h(h))(lambda h: h(h))", "called recursively"},
		{"change the state", "after['list'].append(1) == None", "frozen"},
		{"change the calls", "calls.append(1) == None", "frozen"},
		{"update the state", "before.update(x = 1) == None", "frozen"},
		{"clear the state", "before.clear() == None", "frozen"},
		{"not true or false", "after['list']", "must give True or False, and gave a list"},
		{"one", "1", "gave a int"}, {"none", "None", "gave a NoneType"}, {"a text", "'True'", "gave a string"},
		{"a missing key", "after['nope'] == 1", "key \"nope\" not in dict"},
		{"fail", "fail('no')", "fail: no"},
		{"panic", "range(0, 10, 1 << 62)[::4] == 1", "interpreter broke"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := CompilePredicate(agentbound.Criterion{Text: "c", Holds: c.expr}, JudgeNames...)
			if err != nil {
				t.Fatal(err)
			}
			before := measure()
			holds, err := p.Holds(context.Background(), env)
			before.check(t)
			if holds || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want %q", holds, err, c.want)
			}
		})
	}
}
