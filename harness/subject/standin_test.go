package subject_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/subject"
)

// Plain parts for tests of the composition: they do what internal/wire and
// internal/mcpserve do, for programs that behave.

func parts() subject.Parts {
	return subject.Parts{Proxy: newProxy, Tools: serveTools, Runner: subject.Bare{}}
}

// newProxy reads an answer whole, tells the turn and passes it on.
func newProxy(_ context.Context, o subject.ProxyOptions) (http.Handler, error) {
	up, err := url.Parse(o.Upstream)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer "+o.Dummy {
			http.Error(w, `{"error":{"message":"not served"}}`, http.StatusNotFound)
			o.OnRequest(subject.Request{Method: r.Method, Path: r.URL.Path, What: "unknown path", Status: http.StatusNotFound})
			return
		}
		for attempt := 0; ; attempt++ {
			res, answer := forward(r, up, o.Key, asked)
			if res == nil {
				panic(http.ErrAbortHandler)
			}
			if res.StatusCode != http.StatusOK {
				o.OnRequest(subject.Request{
					Method: r.Method, Path: r.URL.Path, What: "server", Status: res.StatusCode, Offered: offered(asked),
					Fault: fmt.Errorf("status %d", res.StatusCode), Final: res.StatusCode == http.StatusUnauthorized,
				})
			} else {
				turn := decodeChat
				if o.Protocol == harness.Responses {
					turn = decodeResponses
				}
				t := turn(answer)
				t.Offered, t.Attempt = offered(asked), attempt
				switch ruling := o.OnTurn(t); {
				case ruling.Again != nil:
					asked = again(asked, *ruling.Again)
					continue
				case ruling.Text != nil:
					answer = chatAnswer(t, *ruling.Text)
				}
			}
			w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
			w.WriteHeader(res.StatusCode)
			_, _ = w.Write(answer)
			return
		}
	}), nil
}

// forward asks the peer; nil where no whole answer came.
func forward(r *http.Request, up *url.URL, key string, body []byte) (*http.Response, []byte) {
	to := *up
	to.Path = r.URL.Path
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, nil
	}
	return res, answer
}

// again is a request of chat completions that goes on from a Thought.
func again(asked []byte, thought string) []byte {
	var body map[string]any
	_ = json.Unmarshal(asked, &body)
	messages, _ := body["messages"].([]any)
	body["messages"] = append(messages, map[string]any{"role": "assistant", "content": thought}, map[string]any{"role": "user", "content": "Go on."})
	b, _ := json.Marshal(body)
	return b
}

// chatAnswer is a turn with another text, as a stream of one event.
func chatAnswer(t subject.Turn, text string) []byte {
	calls := []any{}
	for i, c := range t.Calls {
		calls = append(calls, map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Args}})
	}
	b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "content": text, "tool_calls": calls}}}})
	return []byte("data: " + string(b) + "\n\ndata: [DONE]\n\n")
}

type toolJSON struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Function    json.RawMessage `json:"function"`
	Tools       []toolJSON      `json:"tools"`
	Parameters  json.RawMessage `json:"parameters"`
}

func offered(asked []byte) (all []subject.Offered) {
	var body struct{ Tools []toolJSON }
	_ = json.Unmarshal(asked, &body)
	add := func(namespace string, t toolJSON) {
		if len(t.Function) > 0 {
			_ = json.Unmarshal(t.Function, &t)
		}
		name := t.Name
		if namespace != "" {
			name = namespace + "__" + name
		}
		sum := sha256.Sum256(append([]byte(t.Description+"\n"), t.Parameters...))
		all = append(all, subject.Offered{Name: name, Digest: agentbound.Digest(hex.EncodeToString(sum[:]))})
	}
	for _, t := range body.Tools {
		if t.Type != "namespace" {
			add("", t)
		}
		for _, n := range t.Tools {
			add(t.Name, n)
		}
	}
	return all
}

// events are the data of an event stream.
func events(answer []byte, each func(data []byte)) {
	for line := range strings.Lines(string(answer)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && !strings.HasPrefix(data, "[DONE]") {
			each([]byte(data))
		}
	}
}

func decodeResponses(answer []byte) (t subject.Turn) {
	events(answer, func(data []byte) {
		var e struct {
			Type     string
			Response struct {
				Status string
				Output []struct {
					Type, Name, Namespace, Arguments string
					CallID                           string `json:"call_id"`
					Content                          []struct{ Text, Refusal string }
				}
				Usage struct {
					Input  int64 `json:"input_tokens"`
					Output int64 `json:"output_tokens"`
				}
			}
		}
		if json.Unmarshal(data, &e) != nil || e.Type != "response.completed" && e.Type != "response.incomplete" {
			return
		}
		t.Usage = agentbound.Usage{InputTokens: e.Response.Usage.Input, OutputTokens: e.Response.Usage.Output}
		for _, it := range e.Response.Output {
			if it.Type == "function_call" {
				name := it.Name
				if it.Namespace != "" {
					name = it.Namespace + "__" + name
				}
				t.Calls = append(t.Calls, subject.Proposal{ID: it.CallID, Name: name, Args: it.Arguments})
			}
			for _, c := range it.Content {
				t.Thought += c.Text
				if c.Refusal != "" {
					t.Refused, t.Refusal = true, c.Refusal
				}
			}
		}
	})
	return t
}

func decodeChat(answer []byte) (t subject.Turn) {
	events(answer, func(data []byte) {
		var e struct {
			Choices []struct {
				Delta struct {
					Content   string
					Refusal   string
					ToolCalls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if json.Unmarshal(data, &e) != nil {
			return
		}
		for _, c := range e.Choices {
			t.Thought += c.Delta.Content
			t.Refusal += c.Delta.Refusal
			for _, call := range c.Delta.ToolCalls {
				for len(t.Calls) <= call.Index {
					t.Calls = append(t.Calls, subject.Proposal{})
				}
				p := &t.Calls[call.Index]
				p.ID, p.Name, p.Args = p.ID+call.ID, p.Name+call.Function.Name, p.Args+call.Function.Arguments
			}
		}
	})
	t.Refused = t.Refusal != ""
	return t
}

// serveTools is as much of MCP over streamable HTTP as the programs use.
func serveTools(ctx context.Context, l net.Listener, tools []agentbound.Tool, call subject.Call) error {
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct {
					ProtocolVersion string
					Name            string
					Arguments       json.RawMessage
				}
			}
			if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
			switch m.Method {
			case "initialize":
				answer["result"] = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "world", "version": "1"}}
			case "tools/list":
				list := []any{}
				for _, t := range tools {
					list = append(list, map[string]any{"name": t.Name, "description": t.Description, "inputSchema": t.Schema})
				}
				answer["result"] = map[string]any{"tools": list}
			case "tools/call":
				o, ok, err := call(r.Context(), agentbound.Call{Tool: m.Params.Name, Args: agentbound.Value(m.Params.Arguments)})
				text := o.String()
				if err != nil {
					answer["error"] = map[string]any{"code": -32603, "message": "internal error"}
					break
				}
				if !ok {
					_ = json.Unmarshal(o, &text)
				}
				answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": !ok}
			case "ping":
				answer["result"] = map[string]any{}
			default:
				answer["error"] = map[string]any{"code": -32601, "message": "method not found"}
			}
			b, _ := agentbound.EncodeJSON(answer)
			_, _ = w.Write(b)
		}),
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
