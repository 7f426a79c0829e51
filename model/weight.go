package model

import "context"

// Bytes is the size of what a request says: no tokenizer of bytes makes more tokens of
// it than that and what templates put around each message.
func (r Request) Bytes() int {
	n := around
	for _, m := range r.Messages {
		n += around + len(m.Text) + len(m.Reasoning) + len(m.State) + len(m.CallID) + len(m.Tool)
		for _, c := range m.Calls {
			n += around + len(c.ID) + len(c.Name) + len(c.Args)
		}
	}
	for _, t := range r.Tools {
		n += around + len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// around is room for what a template writes around a message, a call or a tool, and
// servers' own words about tools.
const around = 64

type weight struct{ bytes, most int }

// Weigh lets a Pace know what a turn asks for: its size, and the tokens that the answer
// may have (0: not said).
func Weigh(ctx context.Context, r Request) context.Context {
	return WeighBytes(ctx, r.Bytes(), r.MaxTokens)
}

// WeighBytes is Weigh for a request of which the size is known.
func WeighBytes(ctx context.Context, bytes, most int) context.Context {
	return context.WithValue(ctx, weight{}, weight{bytes, most})
}

// Weight is what Weigh said; zeros where it was not called.
func Weight(ctx context.Context) (bytes, most int) {
	w, _ := ctx.Value(weight{}).(weight)
	return w.bytes, w.most
}
