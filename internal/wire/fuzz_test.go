package wire

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
)

// FuzzFrames: wherever a stream is cut, its frames are the same, and they and the rest
// are the stream.
func FuzzFrames(f *testing.F) {
	for _, s := range []string{
		"event: a\ndata: {}\n\ndata: 1\ndata:2\n\n: note\n\n", "data: x\r\n\r\ndata: y\r\n\r\n", "data: x\r\rdata: y\r\r", "\xef\xbb\xbfdata: x\n\n",
		"\n\n\ndata\n\ndata: cut", "data: a\r\n\ndata: b\n\r\n",
	} {
		f.Add([]byte(s), 1)
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		if piece < 1 || len(stream) > 1<<12 {
			t.Skip()
		}
		type seen struct {
			Name, Data string
			OK         bool
		}
		read := func(piece int) (all []seen, joined []byte) {
			var fr framer
			for rest := stream; len(rest) > 0; {
				n := min(piece, len(rest))
				fr.feed(rest[:n])
				rest = rest[n:]
				for frame, ok := fr.next(); ok; frame, ok = fr.next() {
					if name, data, ok := parse(frame); ok {
						all = append(all, seen{name, string(data), ok})
					}
					joined = append(joined, frame...)
				}
			}
			return all, append(joined, fr.rest()...)
		}
		whole, joined := read(max(len(stream), 1))
		if !bytes.Equal(joined, stream) {
			t.Errorf("the frames are %q", joined)
		}
		cut, joined := read(piece)
		if d := cmp.Diff(whole, cut); d != "" || !bytes.Equal(joined, stream) {
			t.Errorf("cut every %d bytes: %s", piece, d)
		}
	})
}

// fuzzAnswer: whatever an answer holds, it is decoded or refused; what is decoded can be
// edited, and reads the same as a stream.
func fuzzAnswer(f *testing.F, c codec, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s), "I look first.", false)
		f.Add([]byte(s), "", true)
	}
	f.Fuzz(func(t *testing.T, body []byte, thought string, withhold bool) {
		whole, err := parseObject(body)
		if err != nil {
			return
		}
		var came Turn
		if c.decode(whole, &came) != nil {
			return
		}
		thought = string(bytes.ToValidUTF8([]byte(thought), nil))
		c.edit(whole, Edit{Thought: &thought, Withhold: withhold})
		var said Turn
		if err := c.decode(whole, &said); err != nil {
			t.Fatalf("edited: %v\n%s", err, encode(whole))
		}
		if withhold {
			came.Calls = nil
		}
		if d := cmp.Diff(came.Calls, said.Calls); d != "" {
			t.Errorf("the calls are others: %s", d)
		}
		s := c.assemble()
		for _, frame := range c.events(whole) {
			name, data, _ := parse(frame)
			if _, err := s.event(name, data); err != nil {
				t.Fatalf("%v in %s", err, frame)
			}
		}
		put, err := s.whole()
		if err != nil {
			t.Fatalf("%v of %s", err, encode(whole))
		}
		var streamed Turn
		if err := c.decode(put, &streamed); err != nil {
			t.Fatalf("streamed: %v\n%s", err, encode(put))
		}
		said.Hosted, streamed.Hosted = nil, nil // of forms that a stream has in pieces
		if d := cmp.Diff(said, streamed); d != "" {
			t.Errorf("streamed it is another turn: %s\n%s", d, encode(whole))
		}
	})
}

func FuzzResponsesAnswer(f *testing.F)  { fuzzAnswer(f, responses{}, answers4[Responses]...) }
func FuzzChatAnswer(f *testing.F)       { fuzzAnswer(f, chat{}, answers4[ChatCompletions]...) }
func FuzzMessagesAnswer(f *testing.F)   { fuzzAnswer(f, messages{}, answers4[Messages]...) }
func FuzzGenerateContent(f *testing.F)  { fuzzAnswer(f, gemini{}, answers4[GenerateContent]...) }
func FuzzResponsesStream(f *testing.F)  { fuzzStream(f, responses{}, answers4[Responses]...) }
func FuzzChatStream(f *testing.F)       { fuzzStream(f, chat{}, answers4[ChatCompletions]...) }
func FuzzMessagesStream(f *testing.F)   { fuzzStream(f, messages{}, answers4[Messages]...) }
func FuzzGenerateStream(f *testing.F)   { fuzzStream(f, gemini{}, answers4[GenerateContent]...) }
func FuzzResponsesRequest(f *testing.F) { fuzzRequest(f, responses{}, requests4[Responses]...) }
func FuzzChatRequest(f *testing.F)      { fuzzRequest(f, chat{}, requests4[ChatCompletions]...) }
func FuzzMessagesRequest(f *testing.F)  { fuzzRequest(f, messages{}, requests4[Messages]...) }
func FuzzGenerateRequest(f *testing.F)  { fuzzRequest(f, gemini{}, requests4[GenerateContent]...) }

// fuzzStream: whatever a stream holds, it is put together or refused.
func fuzzStream(f *testing.F, c codec, seeds ...string) {
	for _, s := range seeds {
		if whole, err := parseObject([]byte(s)); err == nil {
			f.Add(bytes.Join(c.events(whole), nil))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var fr framer
		fr.feed(stream)
		s := c.assemble()
		for frame, ok := fr.next(); ok; frame, ok = fr.next() {
			if name, data, ok := parse(frame); ok {
				if _, err := s.event(name, data); err != nil {
					return
				}
			}
		}
		whole, err := s.whole()
		if err != nil {
			return
		}
		var turn Turn
		if c.decode(whole, &turn) != nil {
			return
		}
		c.edit(whole, Edit{Withhold: true})
		var left Turn
		if err := c.decode(whole, &left); err != nil || len(left.Calls) > 0 {
			t.Errorf("calls are withheld, and left are %v, %v", left.Calls, err)
		}
	})
}

// fuzzSplice: whatever had flowed of a stream, what it is made to go on with makes one turn
// of it: the text that had gone out and the one that was added, and the calls of the second
// answer. No call of the first is among it.
func fuzzSplice(f *testing.F, c codec, seeds ...string) {
	for _, a := range seeds {
		for _, b := range seeds {
			if whole, err := parseObject([]byte(a)); err == nil {
				f.Add(bytes.Join(c.events(whole), nil), []byte(b), " [Corrected:] I wait.")
			}
		}
	}
	f.Fuzz(func(t *testing.T, stream, answer []byte, text string) {
		if text = string(bytes.ToValidUTF8([]byte(text), nil)); strings.TrimSpace(text) == "" || strings.Contains(text, "think>") {
			return
		}
		second, err := parseObject(answer)
		if err != nil {
			return
		}
		var more, before Turn
		if c.decode(second, &more) != nil {
			return
		}
		first := c.assemble()
		out, ok := feed(first, stream, true)
		whole, err := first.whole()
		if !ok || err != nil || first.several() || c.decode(whole, &before) != nil {
			return
		}
		flowed := first.flowed()
		out = append(out, bytes.Join(first.splice(second, text), nil)...)
		back := c.assemble()
		if _, ok := feed(back, out, false); !ok {
			t.Fatalf("the events cannot be read: %s", out)
		}
		if whole, err = back.whole(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var got Turn
		if err := c.decode(whole, &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if d := cmp.Diff(callNames(more.Calls), callNames(got.Calls)); d != "" {
			t.Errorf("the calls are others: %s: %s", d, out)
		}
		if len(second.list("candidates")) == 0 && given(second["promptFeedback"]) {
			return // what is blocked says nothing
		}
		if said := strings.Join(strings.Fields(got.Text), ""); !strings.HasSuffix(said, strings.Join(strings.Fields(text), "")) || !strings.HasPrefix(said, strings.Join(strings.Fields(flowed), "")) {
			t.Errorf("it says %q, of %q and %q: %s", got.Text, flowed, text, out)
		}
		if more.Stop != got.Stop && more.Refused == "" {
			t.Errorf("it ends with %q, not %q", got.Stop, more.Stop)
		}
	})
}

func callNames(all []Call) (names []string) {
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// feed puts a stream together, and gives what of it flows; with tail also what belongs to
// that.
func feed(s assembler, stream []byte, tail bool) (flows []byte, ok bool) {
	var fr framer
	fr.feed(stream)
	holding := false
	for frame, ok := fr.next(); ok; frame, ok = fr.next() {
		if name, data, ok := parse(frame); ok {
			at, err := s.event(name, data)
			if err != nil {
				return nil, false
			}
			holding = holding || at > going
			if holding && !(tail && s.within()) {
				if at == ended {
					return flows, true
				}
				continue
			}
		}
		if !holding || s.within() {
			flows = append(flows, frame...)
		}
	}
	return flows, true
}

func FuzzResponsesSplice(f *testing.F) { fuzzSplice(f, responses{}, answers4[Responses]...) }
func FuzzChatSplice(f *testing.F)      { fuzzSplice(f, chat{}, answers4[ChatCompletions]...) }
func FuzzMessagesSplice(f *testing.F)  { fuzzSplice(f, messages{}, answers4[Messages]...) }
func FuzzGenerateSplice(f *testing.F)  { fuzzSplice(f, gemini{}, answers4[GenerateContent]...) }

// fuzzRequest: whatever a request holds, it is read; what is added is its end.
func fuzzRequest(f *testing.F, c codec, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		body, err := parseObject(raw)
		if err != nil {
			return
		}
		before := c.request(body, "m")
		extra := []Message{{Role: model.Assistant, Text: "I wait."}, {Role: model.User, Text: "Go on."}}
		if c.again(body, extra) != nil {
			return
		}
		after := c.request(body, "m")
		if !slices.EqualFunc(before.Tools, after.Tools, func(a, b Tool) bool { return cmp.Equal(a, b) }) {
			t.Error("the tools are others")
		}
		if n := len(after.Messages); n < 2 || after.Messages[n-1].Text != "Go on." {
			t.Errorf("it ends in %+v", after.Messages)
		}
	})
}
