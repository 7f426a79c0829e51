package chat

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/model"
)

// TestNativeBounds: of a turn without measure the conversation keeps a bounded part, and
// the episode is still told how large the arguments were.
func TestNativeBounds(t *testing.T) {
	huge := strings.Repeat("x", agentbound.DefaultLimits().Args+1)
	calls := []model.ToolCall{{ID: "1", Name: "a", Args: huge}, {ID: "2", Name: "b", Args: `{"k":1}`}}
	for range episode.MostCalls {
		calls = append(calls, model.ToolCall{Name: "c", Args: "{}"})
	}
	got := native{}.read(model.Response{Message: model.Message{Role: model.Assistant, Calls: calls}})
	if len(got.calls) != episode.MostCalls || len(got.said.Calls) != episode.MostCalls {
		t.Fatalf("%d calls, %d said; want %d", len(got.calls), len(got.said.Calls), episode.MostCalls)
	}
	if len(got.calls[0].Args) != len(huge) || got.said.Calls[0].Args != "{}" || got.said.Calls[1].Args != `{"k":1}` {
		t.Errorf("%d bytes proposed; said %.20q and %q", len(got.calls[0].Args), got.said.Calls[0].Args, got.said.Calls[1].Args)
	}
}
