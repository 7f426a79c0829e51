package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/agentbound/agentbound/model"
)

// Kind is what went wrong.
type Kind string

// The kinds there are. Those up to UnreadableRequest are the program's doing, Server to
// TimedOut those of the server and what is between.
const (
	UnknownPath       Kind = "unknown path"
	WrongKey          Kind = "wrong key"
	UnreadableRequest Kind = "unreadable request" // or one that is too large
	Gone              Kind = "gone"               // the program went away, or the trial ended
	Server            Kind = "server"             // it answered with a failure
	Connection        Kind = "connection"         // it was not reached, or the connection broke off
	BadAnswer         Kind = "bad answer"         // what it sent is no answer of the protocol, or too large
	TimedOut          Kind = "timed out"
	EditFailed        Kind = "edit failed" // the Editor gave an error, or asked for what can't be done
	Held              Kind = "held back"   // Pace lets no request go
)

// Fault is a request that did not bring the program a turn. It holds nothing secret.
type Fault struct {
	N        int // the turn's, as in Turn; -1 where it was no request for one
	Protocol Protocol
	Kind     Kind
	Method   string
	Path     string // without the query
	Status   int    // that the program was answered with; 0: the connection was closed. With Again the server's
	What     string
	Request  Request      // as far as it was read
	Server   *model.Error // of Server to TimedOut: as a fault of the model's
	Err      error        // of Held: what Pace says
	Again    bool         // the request is sent once more: the program knows nothing of it
}

// Unwrap gives the fault of the model's, or what Pace says.
func (f Fault) Unwrap() error {
	if f.Server != nil {
		return f.Server
	}
	return f.Err
}

// model is the fault of the model's that a kind of fault is; nil: it is none.
func (f Fault) model(err error) *model.Error {
	e := &model.Error{What: f.What, Begun: true}
	switch f.Kind {
	case TimedOut:
		e.Fault = model.FaultTimeout
	case BadAnswer:
		e.Fault = model.FaultAnswer
	case Connection:
		e.Fault = model.FaultConnection
		if dial, ok := errors.AsType[*net.OpError](err); ok {
			e.Err, e.Begun = dial, dial.Op != "dial" // its words are not shown: they may hold an address
		}
	default:
		return nil
	}
	return e
}

// Error implements error.
func (f Fault) Error() string {
	return fmt.Sprintf("%s %s: %s: %s", f.Method, f.Path, f.Kind, f.What)
}

var (
	errIdle  = errors.New("the server sent nothing for too long")
	errTotal = errors.New("the request took too long")
)

// transportFault says what an error of the connection was. The words of the cause may
// hold an address, and an address anything: they are left out.
func transportFault(ctx context.Context, host string, err error) (kind Kind, what string) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errIdle), errors.Is(cause, errTotal):
		return TimedOut, cause.Error()
	case ctx.Err() != nil:
		return Gone, "the program went away, or its time was up"
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok && lookup.IsNotFound {
		return Connection, host + ": no such host"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return Connection, host + " does not speak https"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Connection, host + ": its certificate is not trusted"
	}
	if strings.Contains(err.Error(), "connection refused") {
		return Connection, host + ": connection refused"
	}
	return Connection, host + ": the connection failed"
}

// status is what a program is answered with.
func (k Kind) status() int {
	switch k {
	case UnknownPath:
		return http.StatusNotFound
	case WrongKey:
		return http.StatusUnauthorized
	case UnreadableRequest:
		return http.StatusBadRequest
	case TimedOut:
		return http.StatusGatewayTimeout
	case Held:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}
