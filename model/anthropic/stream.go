package anthropic

import (
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// mostBlocks of an answer are far more than a model makes.
const mostBlocks = 10_000

// assembly is a streamed answer so far. The SDK puts it together, but for the pieces of
// texts: it copies what there is at each of them, which takes minutes for a stream of
// many small ones.
type assembly struct {
	said   anthropic.Message
	pieces []pieces         // of the blocks
	inputs map[int64]string // as they came: the SDK drops those that are no JSON
}

// pieces are those of one block, by the field that they belong to.
type pieces struct{ text, thinking, signature, input strings.Builder }

// add takes the next event. The error says that it has no place there.
func (a *assembly) add(e anthropic.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		*a = assembly{inputs: map[int64]string{}}
	case "content_block_start":
		if len(a.pieces) == mostBlocks {
			return fmt.Errorf("there are more than %d blocks", mostBlocks)
		}
		a.pieces = append(a.pieces, pieces{})
	case "content_block_delta":
		if to := a.field(e); to != nil {
			if e.Index < 0 || e.Index >= int64(len(a.pieces)) {
				return fmt.Errorf("there is no block %d", e.Index)
			}
			to(&a.pieces[e.Index])
			return nil
		}
	case "content_block_stop":
		a.put(e.Index)
	case "message_stop":
		for i := range a.pieces {
			a.put(int64(i))
		}
	}
	return a.said.Accumulate(e)
}

// field says where a piece goes; nil: that is the SDK's to know.
func (a *assembly) field(e anthropic.MessageStreamEventUnion) func(*pieces) {
	switch e.Delta.Type {
	case "text_delta":
		return func(p *pieces) { p.text.WriteString(e.Delta.Text) }
	case "thinking_delta":
		return func(p *pieces) { p.thinking.WriteString(e.Delta.Thinking) }
	case "signature_delta":
		return func(p *pieces) { p.signature.WriteString(e.Delta.Signature) }
	case "input_json_delta":
		return func(p *pieces) { p.input.WriteString(e.Delta.PartialJSON) }
	}
	return nil
}

// put adds what came of a block to what it began with.
func (a *assembly) put(index int64) {
	if index < 0 || index >= int64(min(len(a.pieces), len(a.said.Content))) {
		return
	}
	p, block := &a.pieces[index], &a.said.Content[index]
	block.Text += p.text.String()
	block.Thinking += p.thinking.String()
	block.Signature += p.signature.String()
	if input := p.input.String(); input != "" {
		a.inputs[index] += input
		if string(block.Input) == "{}" {
			block.Input = nil
		}
		block.Input = append(block.Input, input...)
	}
	*p = pieces{}
}
