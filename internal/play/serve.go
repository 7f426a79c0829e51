package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/agentbound/agentbound"
)

// DefaultServer is where a server listens, and a client looks, unless told otherwise.
const DefaultServer = "127.0.0.1:7437"

// address tells a Unix socket's path from a host and port.
func address(server string) (network, addr string) {
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		return "unix", path
	}
	if strings.ContainsAny(strings.TrimPrefix(server, "http://"), `/\`) {
		return "unix", server
	}
	return "tcp", strings.TrimPrefix(server, "http://")
}

// Listen opens a loopback address, or a Unix socket where the address is a path. A
// socket that a killed server left is taken over. Any user who can reach the socket
// may connect: what keeps sessions apart is that their ids cannot be guessed.
func Listen(ctx context.Context, server string) (net.Listener, error) {
	network, addr := address(server)
	if network == "unix" {
		return listenUnix(ctx, addr)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: want HOST:PORT on loopback, such as %s, or the path of a Unix socket: %w", server, DefaultServer, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("address %q is not on loopback: sessions are served to this machine only", server)
	}
	var l net.ListenConfig
	return l.Listen(ctx, network, addr)
}

func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		var d net.Dialer
		if c, err := d.DialContext(ctx, "unix", path); err == nil {
			return nil, errors.Join(fmt.Errorf("a server listens on %s already", path), c.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// grace is how long requests in flight may take when a server stops.
const grace = 10 * time.Second

// Serve answers requests until ctx ends, and then those in flight.
func Serve(ctx context.Context, l net.Listener, s *Sessions) error {
	server := http.Server{Handler: Handler(s), ReadHeaderTimeout: grace}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(stopping)
	if closed := <-done; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// Handler is the HTTP API (docs/play.md): three POSTs of JSON, and nothing to read.
func Handler(s *Sessions) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/start", endpoint(func(ctx context.Context, r startRequest) (any, error) { return s.Start(ctx, r.ID) }))
	mux.Handle("POST /v1/call", endpoint(func(ctx context.Context, c Call) (any, error) { return s.Call(ctx, c) }))
	mux.Handle("POST /v1/finish", endpoint(func(ctx context.Context, f Finish) (any, error) { return s.Finish(ctx, f) }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // the world's clock is the only one
		mux.ServeHTTP(w, r)
	})
}

type startRequest struct {
	ID string `json:"id"`
}

type failure struct {
	Error *Error `json:"error"`
}

// maxBody bounds a request. Arguments have a limit of their own, in the plan.
const maxBody = 8 << 20

func endpoint[T any](serve func(context.Context, T) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request T
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&request); err != nil {
			reply(w, http.StatusBadRequest, failure{&Error{Malformed, "the request is not the JSON that is wanted: " + err.Error()}})
			return
		}
		answer, err := serve(r.Context(), request)
		if err != nil {
			reply(w, status(CodeOf(err)), failure{&Error{CodeOf(err), err.Error()}})
			return
		}
		reply(w, http.StatusOK, answer)
	})
}

func status(c Code) int {
	switch c {
	case UnknownID, UnknownSession:
		return http.StatusNotFound
	case UnknownTool, Malformed:
		return http.StatusBadRequest
	case Ended, Busy:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func reply(w http.ResponseWriter, status int, v any) {
	b, err := agentbound.EncodeJSON(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a subject that went away asks again
}
