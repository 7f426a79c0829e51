package exec

import (
	"strings"
	"sync"
)

// secret is a variable that the user has passed to the program: its value may come
// back in what the program writes and must not reach a message, a log or the store.
type secret struct{ name, value string }

// shortest is the length from which a value is taken for a secret: "1" or "info" is
// none, and would be struck out of every message.
const shortest = 8

// redact strikes the secrets out.
func redact(text string, secrets []secret) string {
	for _, s := range secrets {
		if len(s.value) >= shortest {
			text = strings.ReplaceAll(text, s.value, "["+s.name+"]")
		}
	}
	return text
}

// shorten keeps at most the first n bytes of a text that is fit to be stored.
func shorten(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// tailSize is how much of a program's stderr is kept, and tailShown how much of that a
// message shows.
const (
	tailSize  = 16 << 10
	tailShown = 2 << 10
)

// tail keeps the end of what is written to it. It is safe for a writer and a reader at
// once.
type tail struct {
	mu   sync.Mutex
	kept []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if over := len(p) - tailSize; over > 0 {
		p, t.cut = p[over:], true
	}
	if over := len(t.kept) + len(p) - tailSize; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// text is the end of it, from the beginning of a line on: a secret that was cut in two
// would no longer be known for one.
func (t *tail) text(secrets []secret) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.kept)
	if t.cut {
		_, text, _ = strings.Cut(text, "\n")
	}
	text = strings.TrimSpace(strings.ToValidUTF8(redact(text, secrets), "\uFFFD"))
	if len(text) > tailShown {
		text = "…" + strings.ToValidUTF8(text[len(text)-tailShown:], "")
	}
	return text
}
