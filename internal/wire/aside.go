package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func (p *Proxy) handling(kind Auxiliary) Handling { return cmp.Or(p.opts.Asides[kind], Forward) }

// serveAside serves a request that is no turn.
func (x *exchange) serveAside() {
	how := x.handling(x.at.aside)
	status := http.StatusOK
	defer func() {
		if x.opts.OnAside != nil {
			x.opts.OnAside(Aside{Protocol: x.at.protocol, Kind: x.at.aside, Method: x.in.Method, Path: x.in.URL.Path, Handling: how, Status: status})
		}
	}()
	body, ok := x.body()
	if !ok {
		status = http.StatusBadRequest
		return
	}
	if how == Answer {
		status = x.answerAside(body)
		return
	}
	res, err := x.send(body, true)
	if err != nil {
		kind, what := transportFault(x.ctx, x.opts.Upstream.Host, err)
		status = kind.status()
		x.fail(kind, 0, what)
		return
	}
	defer res.Body.Close()
	if x.redirects(res) {
		status = BadAnswer.status()
		x.fail(BadAnswer, 0, errRedirect)
		return
	}
	raw, err := x.all(res.Body)
	if err != nil {
		status = 0
		x.cut(res, raw, err)
		return
	}
	status = res.StatusCode
	x.whole(res, raw)
}

// answerAside answers in the server's place.
func (x *exchange) answerAside(body []byte) (status int) {
	var v any
	switch x.at.aside {
	case Probe:
		x.w.WriteHeader(http.StatusOK)
		return http.StatusOK
	case CountTokens:
		v = x.count(body)
	case ListModels:
		v = x.models()
	case GetModel:
		if !slices.Contains(x.opts.Models, x.at.name) {
			x.fail(UnknownPath, 0, fmt.Sprintf("the model %.80q is not served here; there is: %s", x.at.name, cmp.Or(strings.Join(x.opts.Models, ", "), "none")))
			return http.StatusNotFound
		}
		v = x.model(x.at.name)
	}
	raw := encode(v)
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
	_ = x.write(raw)
	return http.StatusOK
}

// count estimates tokens at four bytes each: it is no tokeniser's word, but enough for
// programs that ask whether a conversation fits.
func (x *exchange) count(body []byte) any {
	tokens := (len(body) + 3) / 4
	switch x.at.protocol {
	case GenerateContent:
		return map[string]any{"totalTokens": tokens}
	case Responses:
		return map[string]any{"object": "response.input_tokens", "input_tokens": tokens}
	}
	return map[string]any{"input_tokens": tokens}
}

func (x *exchange) model(name string) map[string]any {
	switch x.at.protocol {
	case GenerateContent:
		return map[string]any{
			"name": "models/" + name, "displayName": name, "version": "1", "inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16,
			"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent", "countTokens"},
		}
	case Messages:
		return map[string]any{"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
	}
	return map[string]any{"id": name, "object": "model", "created": 0, "owned_by": "agentbound"}
}

func (x *exchange) models() map[string]any {
	all := []any{}
	for _, m := range x.opts.Models {
		all = append(all, x.model(m))
	}
	switch x.at.protocol {
	case GenerateContent:
		return map[string]any{"models": all}
	case Messages:
		first, last := json.RawMessage("null"), json.RawMessage("null")
		if n := len(x.opts.Models); n > 0 {
			first, last = encode(x.opts.Models[0]), encode(x.opts.Models[n-1])
		}
		return map[string]any{"data": all, "has_more": false, "first_id": first, "last_id": last}
	}
	// Codex reads "models" and takes an empty list for nothing new.
	return map[string]any{"object": "list", "data": all, "models": []any{}}
}
