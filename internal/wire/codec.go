package wire

import (
	"errors"
	"fmt"
)

// codec is a protocol. A turn is decoded from the whole answer, as a server that does not
// stream would have written it: what came as a stream is put together to that first, and
// what goes out as a stream is taken apart from it.
type codec interface {
	// request reads what a program asks. name is the model in the address, if it has one.
	request(body object, name string) Request
	// again puts messages to the end of a request.
	again(body object, extra []Message) error
	// assemble begins to put a stream together.
	assemble() assembler
	// decode reads an answer. An *inside error is a failure that came in its place.
	decode(whole object, t *Turn) error
	// edit changes an answer.
	edit(whole object, e Edit)
	// events are an answer as the frames of a stream.
	events(whole object) [][]byte
	// only is an answer that says a text, and nothing else: it ends in good order.
	only(whole object, text string)
	// usage is the member that tells what an answer used.
	usage() string
	// fail is an error's body.
	fail(status int, message string) []byte
	// broke is an error in the middle of a stream.
	broke(status int, message string) []byte
}

// assembler puts a stream of events together.
type assembler interface {
	event(name string, data []byte) (mark, error)
	// whole is the answer; an error is one that is not complete.
	whole() (object, error)
	// flowed is the text before the first event that was more than going: what a program
	// has where that event, and all after it, is held.
	flowed() string
	// within reports whether the last event belongs to a part that began before the first
	// event that was more than going: it is passed on whatever becomes of the rest.
	within() bool
	// several reports whether the stream holds more answers than the first.
	several() bool
	// splice is the rest of the stream, from the first event that was more than going on,
	// where the answer goes on with a text and the other parts of whole, and ends as it does.
	splice(whole object, text string) [][]byte
}

// mark is how far a turn has come with an event.
type mark int

const (
	going   mark = iota
	calling      // from this event on a program knows that there is a call
	acting       // from this event on a program knows a call, or how the turn ends
	ended        // the turn is complete
)

// inside is a failure of the server's in the place of an answer, or in the middle of it.
type inside struct{ raw []byte } // what stands under "error"

func (*inside) Error() string { return "the server failed inside of an answer" }

var errBroken = errors.New("the stream ended before the answer was complete")

func malformed(format string, args ...any) error {
	return fmt.Errorf("the answer is not one of the protocol: "+format, args...)
}

func codecOf(p Protocol) codec {
	switch p {
	case Responses:
		return responses{}
	case ChatCompletions:
		return chat{}
	case Messages:
		return messages{}
	case GenerateContent:
		return gemini{}
	}
	return nil
}
