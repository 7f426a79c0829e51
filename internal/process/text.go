package process

import (
	"cmp"
	"strings"
	"sync"
)

// secret is a variable that the user has passed to the program: its value may come
// back in what the program writes and must not reach a message, a log or the store.
type secret struct{ name, value string }

// shortest is the length from which a value is taken for a secret: "1" or "info" is
// none, and would be struck out of every message.
const shortest = 8

// Redact strikes the values of the variables that were passed to the program out.
func (p Program) Redact(text string) string {
	for _, s := range p.secrets {
		if len(s.value) >= shortest {
			text = strings.ReplaceAll(text, s.value, "["+s.name+"]")
		}
	}
	return text
}

// Shorten keeps at most the first n bytes of a text that is fit to be stored.
func Shorten(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// What a Tail keeps and shows unless it is told otherwise: enough of a program's stderr
// to tell what went wrong.
const (
	tailSize  = 16 << 10
	tailShown = 2 << 10
)

// Tail keeps the end of what is written to it. It is safe for a writer and a reader at
// once.
type Tail struct {
	Keep, Show int // bytes that are kept, and of those what Text gives; 0: 16 KiB, 2 KiB

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, keep := len(p), cmp.Or(t.Keep, tailSize)
	if over := len(p) - keep; over > 0 {
		p, t.cut = p[over:], true
	}
	if over := len(t.kept) + len(p) - keep; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// Text is the end of it, from the beginning of a line on: a secret that was cut in two
// would no longer be known for one.
func (t *Tail) Text(p Program) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.kept)
	if t.cut {
		_, text, _ = strings.Cut(text, "\n")
	}
	text = strings.TrimSpace(strings.ToValidUTF8(p.Redact(text), "\uFFFD"))
	if show := cmp.Or(t.Show, tailShown); len(text) > show {
		text = "…" + strings.ToValidUTF8(text[len(text)-show:], "")
	}
	return text
}
