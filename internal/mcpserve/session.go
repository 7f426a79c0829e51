package mcpserve

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Session is a client that has introduced itself.
type Session struct {
	Transport string // stdio or http
	Protocol  string // the version of MCP that was negotiated
	Client    string // name and version, as it says
}

// Transports.
const (
	Stdio = "stdio"
	HTTP  = "http"
)

// maxSessions is how many sessions are remembered.
const maxSessions = 1000

// Sessions are the clients that have come, in that order.
func (s *Server) Sessions() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Session(nil), s.sessions...)
}

// introduced is what every request to a server tells of its client.
type introduced interface {
	ProtocolVersion() string
	ClientInfo() *mcp.Implementation
}

// meet remembers a client. Over lines there is no handshake from 2026-07-28 on: each
// request says which version it is in. Over HTTP the SDK has sessions in the versions
// before that only.
func (s *Server) meet(ctx context.Context, req mcp.Request, negotiated string) {
	ss, ok := req.GetSession().(*mcp.ServerSession)
	from, said := req.(introduced)
	if !ok || !said {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.versions[ss] != "" || len(s.sessions) == maxSessions {
		return
	}
	n := Session{Transport: HTTP, Protocol: negotiated}
	if _, ok := ctx.Value(linesKey).(*lines); ok {
		n.Transport = Stdio
		fill(&n.Protocol, from.ProtocolVersion())
	}
	if n.Protocol == "" {
		return
	}
	if c := from.ClientInfo(); c != nil {
		n.Client = clip(c.Name + " " + c.Version)
	}
	s.sessions = append(s.sessions, n)
	s.versions[ss] = n.Protocol
}

// protocol is the version that a request's session has negotiated.
func (s *Server) protocol(req *mcp.CallToolRequest) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.versions[req.Session]; v != "" {
		return v
	}
	return req.ProtocolVersion()
}
