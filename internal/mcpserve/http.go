package mcpserve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"
)

// What bounds HTTP beside Options.
const (
	maxConnections = 128
	maxHeader      = 64 << 10
	headerTime     = 10 * time.Second
	idleTime       = 2 * time.Minute
	closeTime      = 2 * time.Second
)

// Serve serves clients over streamable HTTP on l, and on nothing else, until ctx ends.
// It closes l. Requests that a page in a browser could have made on somebody's behalf
// are refused: of a listener on loopback the Host must be loopback as well, else the
// address it listens on, and where there is an Origin it must be that Host.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	base := context.WithValue(alive, lifeKey, alive)
	var requests sync.WaitGroup
	server := http.Server{
		Handler: s.handler(l.Addr(), &requests), BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(netutil.LimitListener(l, maxConnections)) }()
	var err error
	select {
	case err = <-done:
		done <- http.ErrServerClosed
	case <-ctx.Done():
	}
	s.drain()
	kill()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	s.dismiss()
	if server.Shutdown(stopping) != nil {
		_ = server.Close() // whoever has not let go is cut off
	}
	s.dismiss() // one may have come meanwhile
	requests.Wait()
	if closed := <-done; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// drain takes no further calls and gives the one in flight some time.
func (s *Server) drain() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	timer := time.NewTimer(s.o.Grace)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
		<-s.turn
	case <-timer.C:
	}
}

// dismiss ends all sessions and waits for them.
func (s *Server) dismiss() {
	var all sync.WaitGroup
	for session := range s.mcp.Sessions() {
		all.Go(func() { _ = session.Close() }) // it is gone either way
	}
	all.Wait()
}

func (s *Server) handler(addr net.Addr, requests *sync.WaitGroup) http.Handler {
	inner := mcp.NewStreamableHTTPHandler(s.admitSession, &mcp.StreamableHTTPOptions{MaxRequestBodyBytes: int64(s.o.MaxMessage), Logger: s.o.Log})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		defer requests.Done()
		w.Header()["Date"] = nil // the world's clock is the only one
		r.Header.Del(ticketHeader)
		switch {
		case !meant(r, addr):
			http.Error(w, "requests to this server come from programs on its own machine: the Host or the Origin is another's", http.StatusForbidden)
		case r.URL.Path != s.o.Path:
			http.NotFound(w, r)
		case s.isClosing():
			http.Error(w, errClosing.Message, http.StatusServiceUnavailable)
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// admitSession gives the server to those that have a session, and to new ones while
// there is room.
func (s *Server) admitSession(r *http.Request) *mcp.Server {
	if r.Header.Get("Mcp-Session-Id") != "" {
		return s.mcp
	}
	n := 0
	for range s.mcp.Sessions() {
		n++
	}
	if n >= s.o.MaxSessions {
		return nil
	}
	return s.mcp
}

// meant reports whether a request was meant for a server at addr, and not sent by a page
// whose name was made to point here (DNS rebinding).
func meant(r *http.Request, addr net.Addr) bool {
	if origin := r.Header.Values("Origin"); len(origin) > 1 || len(origin) == 1 && origin[0] != "http://"+r.Host {
		return false
	}
	listens, ok := addr.(*net.TCPAddr)
	if !ok {
		return true // a socket is out of a browser's reach
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	ip, err := netip.ParseAddr(host)
	loopback := strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
	switch own, _ := netip.AddrFromSlice(listens.IP); {
	case listens.IP.IsLoopback():
		return loopback
	case listens.IP.IsUnspecified():
		return loopback || err == nil // an address is no name that could be pointed elsewhere
	default:
		return err == nil && ip.Unmap() == own.Unmap()
	}
}
