package subject_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/mcpserve"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/model"
)

// The real parts, for programs whose protocol or client of MCP the plain ones do not
// know.

func wiredTools(ctx context.Context, l net.Listener, tools []agentbound.Tool, call subject.Call) error {
	s, err := mcpserve.New(tools, mcpserve.Call(call), mcpserve.Options{Name: harness.Server})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return s.Serve(ctx, l)
}

func wiredProxy(_ context.Context, o subject.ProxyOptions) (http.Handler, error) {
	up, err := url.Parse(o.Upstream)
	if err != nil {
		return nil, err
	}
	protocol := map[harness.Protocol]wire.Protocol{harness.Messages: wire.Messages, harness.GenerateContent: wire.GenerateContent}[o.Protocol]
	return wire.New(wire.Options{
		Upstream: up, Key: o.Key, Dummy: o.Dummy, Protocols: []wire.Protocol{protocol},
		Edit: func(_ context.Context, t wire.Turn) (wire.Edit, error) {
			turn := subject.Turn{
				Thought: t.Text, Reasoning: t.Reasoning, Refused: t.Stop == model.StopRefusal, Refusal: t.Refused, Cut: t.Stop == model.StopLength,
				Usage: agentbound.Usage{InputTokens: t.Usage.Input, OutputTokens: t.Usage.Output, CachedTokens: t.Usage.Cached},
			}
			for _, tool := range t.Request.Tools {
				sum := sha256.Sum256([]byte(tool.Description + "\n" + string(tool.Schema)))
				turn.Offered = append(turn.Offered, subject.Offered{Name: tool.Name, Digest: agentbound.Digest(hex.EncodeToString(sum[:]))})
			}
			for _, c := range t.Calls {
				turn.Calls = append(turn.Calls, subject.Proposal{ID: c.ID, Name: c.Name, Args: c.Args})
			}
			o.OnTurn(turn)
			return wire.Edit{}, nil
		},
	})
}
