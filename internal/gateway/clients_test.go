package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model/modeltest"
)

// TestPythonClients: the official Python clients behind the gateway, with an edit and
// without (make gateway-clients, which names the Python that has them).
func TestPythonClients(t *testing.T) {
	python := os.Getenv("AGENTBOUND_GATEWAY_PYTHON")
	if python == "" {
		t.Skip("AGENTBOUND_GATEWAY_PYTHON is not set: see make gateway-clients")
	}
	peers := map[string]modeltest.Protocol{"responses": modeltest.Responses{}, "chat": modeltest.Chat{}, "messages": modeltest.Anthropic{}}
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		peer := peers[name]
		for _, mode := range []string{"stream", ""} {
			for _, edits := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/edited=%v", name, map[string]string{"stream": "streamed", "": "whole"}[mode], edits), func(t *testing.T) {
					p := modeltest.Serve(t, modeltest.Options{Protocol: peer, Key: secret, Play: agent(draft, "As you wish."), Piece: 7})
					s := front(t, p.URL, &fixed{do: func(_ context.Context, in intervene.Context) (intervene.Correction, error) {
						if edits && len(in.History) == 0 {
							return intervene.Correction{Thought: better}, nil
						}
						return intervene.Correction{Thought: in.Thought}, nil
					}}, gateway.Options{})
					base := s.base
					if name == "messages" && len(base) > 3 && base[len(base)-3:] == "/v1" {
						base = base[:len(base)-3] // that client adds the version itself
					}
					cmd := exec.CommandContext(t.Context(), python, "../../examples/gateway/clients.py", name, base, mode)
					if mode == "" {
						cmd.Args = cmd.Args[:len(cmd.Args)-1]
					}
					cmd.Env = append(os.Environ(), "GATEWAY_CLIENT_KEY="+secret)
					cmd.Stderr = os.Stderr
					out, err := cmd.Output()
					if err != nil {
						t.Fatal(err)
					}
					var got heard
					if err := json.Unmarshal(out, &got); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
					want := heard{Text: draft, Calls: []string{`call_A {"id":"A"}`, `call_B {"id":"B"}`}, Final: `It is {"read":"record of B"}`}
					if edits {
						want.Calls, want.Final, want.Text = want.Calls[:1], `It is {"read":"record of A"}`, better
						if mode == "stream" {
							want.Text = draft + "\n\n" + gateway.Mark + "\n\n" + better
						}
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Error(d)
					}
					if entries := s.entries(t, 0); (len(entries) == 1) != edits {
						t.Errorf("%d entries", len(entries))
					}
					t.Logf("text %q, calls %q, then %q", got.Text, got.Calls, got.Final)
				})
			}
		}
	}
}
