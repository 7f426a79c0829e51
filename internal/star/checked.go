package star

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Bounds of one value while a program runs, and of the whole run.
const (
	MaxSteps   = 1_000_000 // of one tool call or predicate; checked operations add their work
	maxString  = 1 << 18   // bytes
	maxItems   = 1 << 16   // of a list, tuple or object
	maxIntBits = 4096
	maxWork    = 1 << 18 // of one native walk over a value
	bytesStep  = 16      // bytes of text that count as one step
	oddKey     = 200     // steps of using a key whose hash collides at will
)

var (
	errSteps = fmt.Errorf("too many steps: more than %d", MaxSteps)
	errWork  = fmt.Errorf("a value of more than %d parts", maxWork)
)

// charge adds work to the thread's steps. The interpreter looks at them before its
// next instruction; work that passes the limit is refused here, before it is done.
func charge(thread *starlark.Thread, work int) error {
	if work < 0 || work > MaxSteps {
		return errSteps
	}
	thread.Steps += uint64(work)
	if thread.Steps > MaxSteps {
		return errSteps
	}
	return nil
}

// operate is x op y for the checked operators.
func operate(thread *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		return compare(thread, op, x, y)
	case syntax.IN, syntax.NOT_IN:
		return member(thread, op, x, y)
	}
	if err := growth(thread, op, x, y); err != nil {
		return nil, err
	}
	return starlark.Binary(op, x, y)
}

// compare charges what a comparison may walk: both values in step, so never more
// than there is of one.
func compare(thread *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	work := 0
	switch a := x.(type) {
	case starlark.String:
		if b, ok := y.(starlark.String); ok {
			work = min(len(a), len(b)) / bytesStep
		}
	case starlark.Bytes, *starlark.List, starlark.Tuple, *starlark.Dict:
		if x.Type() == y.Type() {
			var err error
			if work, err = weigh(x); err != nil {
				return nil, err
			}
		}
	}
	if err := charge(thread, work); err != nil {
		return nil, err
	}
	ok, err := starlark.Compare(op, x, y)
	return starlark.Bool(ok), err
}

func member(thread *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	var work int
	var err error
	if _, isDict := y.(*starlark.Dict); isDict {
		work, err = keyWork(x)
	} else {
		work, err = searchWork(x, y)
	}
	if err != nil {
		return nil, err
	}
	if err := charge(thread, work); err != nil {
		return nil, err
	}
	return starlark.Binary(op, x, y)
}

// searchWork is the work of looking for x among the items, or the text, of y.
func searchWork(x, y starlark.Value) (int, error) {
	switch y.(type) {
	case starlark.String, starlark.Bytes:
		return lengthOf(y) / bytesStep, nil
	case *starlark.List, starlark.Tuple:
		switch x := x.(type) {
		case starlark.String:
			return lengthOf(y) * (1 + len(x)/bytesStep), nil
		case starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float:
			return lengthOf(y), nil
		}
		return weigh(y)
	}
	return 0, nil
}

// growth refuses an operation whose result would be too large, and charges it.
func growth(thread *starlark.Thread, op syntax.Token, x, y starlark.Value) error {
	switch x := x.(type) {
	case starlark.Int:
		if n, ok := y.(starlark.Int); ok {
			return growInt(op, x, n)
		}
		if op == syntax.STAR {
			return growRepeat(thread, y, x)
		}
	case starlark.String:
		switch op {
		case syntax.PLUS:
			return growString(thread, len(x)+lengthOf(y))
		case syntax.STAR:
			return growRepeat(thread, x, y)
		case syntax.PERCENT:
			return growInterpolation(thread, string(x), y)
		}
	case *starlark.List, starlark.Tuple, starlark.Bytes:
		if op == syntax.STAR {
			return growRepeat(thread, x, y)
		}
		return growItems(thread, lengthOf(x)+lengthOf(y))
	case *starlark.Dict:
		if err := growEntries(thread, 0, x); err != nil {
			return err
		}
		return growEntries(thread, x.Len(), y)
	}
	return nil
}

func growInt(op syntax.Token, x, y starlark.Int) error {
	a, b := bits(x), bits(y)
	switch op {
	case syntax.STAR:
		a += b
	case syntax.LTLT:
		shift, ok := y.Int64()
		if !ok || shift > maxIntBits {
			shift = maxIntBits
		}
		a += int(max(shift, 0))
	default:
		a = max(a, b) + 1
	}
	if a > maxIntBits {
		return errBits
	}
	return nil
}

func bits(i starlark.Int) int {
	if _, ok := i.Int64(); ok {
		return 64
	}
	return i.BigInt().BitLen()
}

func growRepeat(thread *starlark.Thread, x, times starlark.Value) error {
	n, ok := times.(starlark.Int)
	if !ok {
		return nil // Starlark's own type error is the better message
	}
	count, ok := n.Int64()
	if !ok && n.Sign() > 0 || count > MaxSteps {
		count = MaxSteps
	}
	size := lengthOf(x) * int(max(count, 0))
	switch x.(type) {
	case starlark.String, starlark.Bytes:
		return growString(thread, size)
	}
	return growItems(thread, size)
}

// growInterpolation is for text % y.
func growInterpolation(thread *starlark.Thread, text string, y starlark.Value) error {
	n, longest := 0, 0
	quoted := strings.Contains(text, "%r") || strings.Contains(text, ")r")
	add := func(v starlark.Value) error {
		size, err := shown(v, quoted)
		n, longest = n+size, max(longest, size)
		return err
	}
	switch y := y.(type) {
	case starlark.Tuple:
		for _, v := range y {
			if err := add(v); err != nil {
				return err
			}
		}
	case *starlark.Dict: // each %(name)s may name the longest
		for _, v := range y.Entries() {
			if err := add(v); err != nil {
				return err
			}
		}
		n = longest * strings.Count(text, "%")
		if err := add(y); err != nil { // or the object itself is printed
			return err
		}
	default:
		if err := add(y); err != nil {
			return err
		}
	}
	return growString(thread, len(text)+n)
}

func growString(thread *starlark.Thread, n int) error {
	if n > maxString {
		return fmt.Errorf("a text of %d bytes; at most %d are accepted", n, maxString)
	}
	return charge(thread, 1+n/bytesStep)
}

func growItems(thread *starlark.Thread, n int) error {
	if n > maxItems {
		return fmt.Errorf("a collection of %d items; at most %d are accepted", n, maxItems)
	}
	return charge(thread, 1+n)
}

// growEntries charges putting the entries of v, an object or a sequence of pairs,
// into an object that has some.
func growEntries(thread *starlark.Thread, have int, v starlark.Value) error {
	if n := have + lengthOf(v); n > maxItems {
		return growItems(thread, n)
	}
	work := 1 + lengthOf(v)
	add := func(key starlark.Value) error {
		w, err := keyWork(key)
		work += w
		return err
	}
	if d, ok := v.(*starlark.Dict); ok {
		for k := range d.Entries() {
			if err := add(k); err != nil {
				return err
			}
		}
		return charge(thread, work)
	}
	for _, pair := range elements(v) {
		for _, key := range elements(pair) {
			if err := add(key); err != nil {
				return err
			}
			break // the key is the first of the two
		}
	}
	return charge(thread, work)
}

// elements iterates over v; over nothing where it cannot be iterated.
func elements(v starlark.Value) func(func(int, starlark.Value) bool) {
	return func(yield func(int, starlark.Value) bool) {
		iter := starlark.Iterate(v)
		if iter == nil {
			return
		}
		defer iter.Done()
		var x starlark.Value
		for i := 0; iter.Next(&x); i++ {
			if !yield(i, x) {
				return
			}
		}
	}
}

// lengthOf is the number of items or bytes at the top, 0 for what has none.
func lengthOf(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	}
	if n := starlark.Len(v); n >= 0 {
		return n
	}
	if _, ok := v.(starlark.Iterable); ok {
		return len(v.String()) // the characters of a text, which do not tell their number
	}
	return 0
}

// keyWork is the work of finding a key in an object, beyond the step of the
// instruction. A text's hash has a secret seed, and small numbers are too few to
// crowd a bucket; any other hash collides for whoever wants it to, which makes a
// look-up as slow as a search, so these keys have a price that keeps them few.
func keyWork(key starlark.Value) (int, error) {
	if plainKey(key) {
		return lengthOf(key) / bytesStep, nil
	}
	switch key.(type) {
	case *starlark.List, *starlark.Dict:
		return 0, nil // no key at all, as Starlark will say
	}
	work, err := weigh(key)
	return work + oddKey, err
}

func plainKey(key starlark.Value) bool {
	switch key := key.(type) {
	case starlark.String, starlark.Bool, starlark.NoneType:
		return true
	case starlark.Int:
		i, ok := key.Int64()
		return ok && -1<<20 < i && i < 1<<20
	}
	return false
}

// weigh is the work of walking a tree: one step a value and one for each 16 bytes
// of text. A part that is shared counts each time it is met, as a walk would.
func weigh(v starlark.Value) (int, error) {
	switch v := v.(type) { // the common ones need no walker
	case starlark.String:
		return 1 + len(v)/bytesStep, nil
	case starlark.NoneType, starlark.Bool, starlark.Float:
		return 1, nil
	}
	w := weigher{}
	err := w.walk(v, 0)
	return w.work, err
}

// printed bounds the length of str(v) and of v in a format.
func printed(v starlark.Value) (int, error) {
	switch v := v.(type) {
	case starlark.String:
		return 4*len(v) + 2, nil // as if each byte were escaped
	case starlark.Float:
		return 320, nil // %f
	case starlark.Int:
		return bits(v)/3 + 12, nil // %o
	}
	w := weigher{}
	err := w.walk(v, 0)
	return w.text, err
}

// shown bounds the length of v in a format, where a text stands as it is unless it
// is to be quoted.
func shown(v starlark.Value, quoted bool) (int, error) {
	if s, text := v.(starlark.String); text && !quoted {
		return len(s), nil
	}
	return printed(v)
}

type weigher struct {
	work int
	text int // bytes that it may take to print
}

func (w *weigher) walk(v starlark.Value, depth int) error {
	w.work++
	w.text += 6 // None, a comma, brackets
	if depth > MaxDepth {
		return errDepth
	}
	if w.work > maxWork {
		return errWork
	}
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool:
	case starlark.Float:
		w.text += 24
	case starlark.Int:
		n := bits(v)
		w.work += n / 128
		w.text += n / 3
	case starlark.String:
		w.addText(len(v))
	case starlark.Bytes:
		w.addText(len(v))
	case *starlark.List:
		return w.items(v, depth)
	case starlark.Tuple:
		return w.items(v, depth)
	case *starlark.Dict:
		for k, e := range v.Entries() {
			if !plainKey(k) {
				w.work += oddKey
			}
			if err := w.walk(k, depth+1); err != nil {
				return err
			}
			if err := w.walk(e, depth+1); err != nil {
				return err
			}
		}
	default:
		w.addText(len(v.String())) // a function, a range, the characters of a text
	}
	return nil
}

func (w *weigher) addText(n int) {
	w.work += n / bytesStep
	w.text += 4 * n
}

func (w *weigher) items(v starlark.Indexable, depth int) error {
	for i := range v.Len() {
		if err := w.walk(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}
