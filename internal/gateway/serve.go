package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Paths that are the gateway's own. They are served beside those of the protocols, or on a
// listener of their own; the audit log is served there alone.
const (
	healthPath  = "/healthz"
	readyPath   = "/readyz"
	metricsPath = "/metrics"
	auditPath   = "/audit"
)

// Serve serves clients on one listener, and on another, which may be nil, those who look
// after the gateway, until ctx ends. Then no new request is taken, and those in flight may
// come to their end, for Grace; what is still there is broken off, which is an error.
func (g *Gateway) Serve(ctx context.Context, clients, admin net.Listener) error {
	own := g.admin(admin)
	handler := http.Handler(g)
	if admin == nil {
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case healthPath, readyPath, metricsPath:
				own.ServeHTTP(w, r)
			default:
				g.ServeHTTP(w, r)
			}
		})
	}
	// Requests do not end with ctx: they are what is waited for.
	server := func(h http.Handler) *http.Server {
		return &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }}
	}
	front, back := server(handler), server(own)
	served := make(chan error, 2)
	go func() { served <- front.Serve(clients) }()
	if admin != nil {
		go func() { served <- back.Serve(admin) }()
	}
	var failed error
	select {
	case failed = <-served:
	case <-ctx.Done():
	}
	g.ends.Store(true)
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), g.opts.Grace)
	defer done()
	if err := front.Shutdown(grace); err != nil {
		failed = errors.Join(failed, errors.New("gateway: requests were still in flight when the time for them was up"), front.Close())
	}
	g.Close() // the metrics can be read while it waits
	if admin != nil {
		failed = errors.Join(failed, back.Close())
	}
	return failed
}

// admin serves what is the gateway's own.
func (g *Gateway) admin(l net.Listener) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, _ *http.Request) {
		if !g.ready() {
			http.Error(w, "not ready: the gateway ends, or its audit log cannot be written", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	mux.Handle("GET "+metricsPath, g.meters.handler())
	if l == nil {
		return mux
	}
	mux.HandleFunc("GET "+auditPath, g.serveAudit)
	mux.HandleFunc("GET /{$}", g.serveIndex)
	if !loopback(l.Addr()) {
		return mux
	}
	// A page in a browser on this machine could ask here by a name of its own: names are
	// refused.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
			http.Error(w, "ask by address or as localhost", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serveIndex links what there is, for whoever follows the printed address.
func (g *Gateway) serveIndex(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	links := []string{auditPath, healthPath, readyPath, metricsPath}
	if g.opts.Audit == nil {
		links = links[1:]
	}
	_, _ = io.WriteString(w, "<!doctype html><html lang=\"en\"><title>agentbound gateway</title><h1>agentbound gateway</h1><ul>")
	for _, path := range links {
		_, _ = fmt.Fprintf(w, "<li><a href=\"%s\">%s</a></li>", path, path)
	}
	_, _ = io.WriteString(w, "</ul>\n")
}

func (g *Gateway) serveAudit(w http.ResponseWriter, _ *http.Request) {
	if g.opts.Audit == nil {
		http.Error(w, "no audit log is kept: start the gateway with --audit FILE", http.StatusNotFound)
		return
	}
	entries, unread, err := ReadAudit(g.opts.Audit.path)
	if err != nil {
		g.opts.Log.Error("the audit log cannot be read", "error", err)
		http.Error(w, "the audit log cannot be read", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err := WritePage(w, entries, unread); err != nil {
		g.opts.Log.Warn("the page of the audit log broke off", "error", err)
	}
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
