package wire

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Auxiliary is what programs ask of a server beside turns.
type Auxiliary string

// What there is. docs/wire.md says which program asks for which.
const (
	ListModels  Auxiliary = "models"       // GET …/models
	GetModel    Auxiliary = "model"        // GET …/models/NAME
	CountTokens Auxiliary = "count_tokens" // Anthropic's count_tokens, Google's countTokens, OpenAI's input_tokens
	Probe       Auxiliary = "probe"        // HEAD of the base URL: is anybody there?
)

// Handling is what the proxy does with a request that is no turn.
type Handling string

// The ways there are.
const (
	Forward Handling = "forward" // to the server, as it came but for the key
	Answer  Handling = "answer"  // by the proxy: Options.Models, or an estimate of tokens
	Refuse  Handling = "refuse"  // as any path that is not known
)

// Aside is a request that was no turn: what for, and what became of it.
type Aside struct {
	Protocol Protocol
	Kind     Auxiliary
	Method   string
	Path     string
	Handling Handling
	Status   int
}

// route is what a request is for.
type route struct {
	protocol Protocol
	aside    Auxiliary // empty: a turn
	name     string    // of the model, where the path has it
	stream   bool      // the path asks for a stream
}

// paths are what each protocol serves below its base URL. A version that the base URL
// may end in is left out there.
var paths = []struct {
	protocol Protocol
	method   string
	aside    Auxiliary
	pattern  *regexp.Regexp
}{
	{Responses, http.MethodPost, "", regexp.MustCompile(`^(?:/v1)?/responses$`)},
	{Responses, http.MethodPost, CountTokens, regexp.MustCompile(`^(?:/v1)?/responses/input_tokens$`)},
	{Responses, http.MethodGet, ListModels, regexp.MustCompile(`^(?:/v1)?/models$`)},
	{Responses, http.MethodGet, GetModel, regexp.MustCompile(`^(?:/v1)?/models/(.+)$`)},
	{ChatCompletions, http.MethodPost, "", regexp.MustCompile(`^(?:/v1)?/chat/completions$`)},
	{ChatCompletions, http.MethodGet, ListModels, regexp.MustCompile(`^(?:/v1)?/models$`)},
	{ChatCompletions, http.MethodGet, GetModel, regexp.MustCompile(`^(?:/v1)?/models/(.+)$`)},
	{Messages, http.MethodPost, "", regexp.MustCompile(`^(?:/v1)?/messages$`)},
	{Messages, http.MethodPost, CountTokens, regexp.MustCompile(`^(?:/v1)?/messages/count_tokens$`)},
	{Messages, http.MethodGet, ListModels, regexp.MustCompile(`^(?:/v1)?/models$`)},
	{Messages, http.MethodGet, GetModel, regexp.MustCompile(`^(?:/v1)?/models/(.+)$`)},
	{GenerateContent, http.MethodPost, "", regexp.MustCompile(`^(?:/v1(?:beta|alpha)?)?/(?:models|tunedModels)/([^/:]+):(?:generateContent|streamGenerateContent)$`)},
	{GenerateContent, http.MethodPost, CountTokens, regexp.MustCompile(`^(?:/v1(?:beta|alpha)?)?/(?:models|tunedModels)/([^/:]+):countTokens$`)},
	{GenerateContent, http.MethodGet, ListModels, regexp.MustCompile(`^(?:/v1(?:beta|alpha)?)?/models$`)},
	{GenerateContent, http.MethodGet, GetModel, regexp.MustCompile(`^(?:/v1(?:beta|alpha)?)?/models/([^/:]+)$`)},
}

// route finds what a request is for. known: the path is served, if by another method.
func (p *Proxy) route(r *http.Request) (found route, known, ok bool) {
	guess := p.guess(r)
	rest, under := strings.CutPrefix(r.URL.Path, p.base)
	if !under {
		return route{protocol: guess}, false, false
	}
	if r.Method == http.MethodHead && (rest == "" || rest == "/") {
		return route{protocol: guess, aside: Probe}, true, true
	}
	if strings.Contains(rest, "//") || strings.Contains(rest, "/.") {
		return route{protocol: guess}, false, false // nobody's name for a path
	}
	for _, served := range paths {
		match := served.pattern.FindStringSubmatch(rest)
		if match == nil || !slices.Contains(p.opts.Protocols, served.protocol) {
			continue
		}
		known = true
		if r.Method != served.method || (ok && served.protocol != guess) {
			continue
		}
		found, ok = route{protocol: served.protocol, aside: served.aside}, true
		if len(match) > 1 {
			found.name = match[1]
		}
		found.stream = strings.HasSuffix(rest, ":streamGenerateContent")
	}
	if !ok {
		found.protocol = guess
	}
	return found, known, ok
}

// guess is the protocol of a request whose path does not tell it, by its headers.
func (p *Proxy) guess(r *http.Request) Protocol {
	likely := ChatCompletions
	switch {
	case r.Header.Get("Anthropic-Version") != "" || r.Header.Get("X-Api-Key") != "":
		likely = Messages
	case r.Header.Get("X-Goog-Api-Key") != "" || strings.Contains(r.URL.Path, "/v1beta/") || r.URL.Query().Has("key"):
		likely = GenerateContent
	}
	if slices.Contains(p.opts.Protocols, likely) {
		return likely
	}
	return p.opts.Protocols[0]
}
