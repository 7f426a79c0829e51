package play

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/agentbound/agentbound"
)

// Client is a subject's side of a server.
type Client struct {
	Server string        // host and port, or the path of a Unix socket; empty: DefaultServer
	Wait   time.Duration // how long to wait for a server that does not listen yet
}

// Start begins a session or goes on with it.
func (c *Client) Start(ctx context.Context, id string) (o Opening, err error) {
	err = c.post(ctx, "start", startRequest{id}, &o)
	return o, err
}

// Call makes one call. It is sent once more under the same key where the connection
// breaks, so that it is made once.
func (c *Client) Call(ctx context.Context, call Call) (a Answer, err error) {
	if err := CheckArgs(call.Args); err != nil {
		return a, err
	}
	if call.Request == "" {
		call.Request = randomID()
	}
	err = c.post(ctx, "call", call, &a)
	return a, err
}

// Finish ends a session. It is sent again as a call is.
func (c *Client) Finish(ctx context.Context, f Finish) (r Receipt, err error) {
	if err := f.check(); err != nil {
		return r, err
	}
	if f.Request == "" {
		f.Request = randomID()
	}
	err = c.post(ctx, "finish", f, &r)
	return r, err
}

// UnreachableError says that no server answers.
type UnreachableError struct {
	Server string
	Sent   bool // the request may have been carried out
	Err    error
}

func (e *UnreachableError) Error() string {
	if e.Sent {
		return fmt.Sprintf("the connection to %s broke, and what was asked may or may not have been done: give start once more with the same id, which shows what was done (%v)", e.Server, e.Err)
	}
	return fmt.Sprintf("no server answers at %s: whoever gave you the task starts it with \"agentbound play serve\"; where it listens elsewhere, name it with --server or in AGENTBOUND_PLAY (%v)", e.Server, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

const (
	pause  = 100 * time.Millisecond
	resend = 5 * time.Second // how long a request whose answer was lost is sent again
)

func (c *Client) post(ctx context.Context, verb string, body, answer any) error {
	server := c.Server
	if server == "" {
		server = DefaultServer
	}
	b, err := agentbound.EncodeJSON(body)
	if err != nil {
		return err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		network, addr := address(server)
		return d.DialContext(ctx, network, addr)
	}, DisableKeepAlives: true}
	until, sent := time.Now().Add(c.Wait), false
	for {
		err := send(ctx, &http.Client{Transport: transport}, verb, b, answer)
		var e *Error
		if err == nil || errors.As(err, &e) || ctx.Err() != nil {
			return err
		}
		if !sent && !undialled(err) {
			sent, until = true, time.Now().Add(resend)
		}
		if time.Now().After(until) {
			return &UnreachableError{Server: server, Sent: sent, Err: err}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// undialled reports whether there was no connection, so that nothing was sent.
func undialled(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "dial"
}

func send(ctx context.Context, client *http.Client, verb string, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agentbound/v1/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		return json.Unmarshal(b, answer)
	}
	var f failure
	if err := json.Unmarshal(b, &f); err != nil || f.Error == nil {
		return &Error{Failed, fmt.Sprintf("what answers is not an agentbound play server (%s)", response.Status)}
	}
	return f.Error
}
