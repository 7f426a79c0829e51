package wire

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The places in which programs show a key.
const (
	bearer    = "Authorization"
	anthropic = "X-Api-Key"
	google    = "X-Goog-Api-Key"
	inQuery   = "key"
)

// admit reports whether a request shows the dummy key and no other, or none where it may.
// Of keys that pass the server is the judge.
func (p *Proxy) admit(r *http.Request, none bool) bool {
	if p.opts.PassKeys {
		return true
	}
	shown := 0
	for _, name := range []string{bearer, anthropic, google} {
		for _, value := range r.Header.Values(name) {
			if name == bearer {
				scheme, token, _ := strings.Cut(value, " ")
				if !strings.EqualFold(scheme, "Bearer") {
					return false
				}
				value = token
			}
			if !p.same(strings.TrimSpace(value)) {
				return false
			}
			shown++
		}
	}
	for _, value := range r.URL.Query()[inQuery] {
		if !p.same(value) {
			return false
		}
		shown++
	}
	return shown > 0 || none
}

func (p *Proxy) same(key string) bool {
	return subtle.ConstantTimeCompare([]byte(key), []byte(p.opts.Dummy)) == 1
}

// authorise puts the real key where the dummy was; one in the address goes into a header,
// since addresses are written into logs.
func (p *Proxy) authorise(in *http.Request, out http.Header) {
	if p.opts.PassKeys {
		return
	}
	for _, name := range []string{bearer, anthropic, google} {
		had := in.Header.Get(name) != "" || name == google && in.URL.Query().Has(inQuery)
		out.Del(name)
		if !had || p.opts.Key == "" {
			continue
		}
		if name == bearer {
			out.Set(name, "Bearer "+p.opts.Key)
		} else {
			out.Set(name, p.opts.Key)
		}
	}
}

// withoutKey is a query as it was written but for the key.
func withoutKey(raw string) string {
	if !strings.Contains(raw, inQuery) {
		return raw
	}
	var kept []string
	for part := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil && plain == inQuery {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "&")
}

// spellings are the forms in which a server may repeat a key: as it is, in JSON, in an
// address, in base 64.
func spellings(key string) (all [][]byte) {
	if key == "" {
		return nil
	}
	quoted := strings.Trim(string(encode(key)), `"`)
	forms := []string{
		key, quoted, strings.ReplaceAll(quoted, "/", `\/`), url.QueryEscape(key), url.PathEscape(key),
		base64.RawStdEncoding.EncodeToString([]byte(key)), base64.RawURLEncoding.EncodeToString([]byte(key)),
	}
	seen := map[string]bool{}
	for _, f := range forms {
		if !seen[f] {
			seen[f] = true
			all = append(all, []byte(f))
		}
	}
	return all
}

// clean puts the dummy in the place of the key, wherever a server repeats it.
func (p *Proxy) clean(b []byte) []byte {
	for _, s := range p.secret {
		if bytes.Contains(b, s) {
			b = bytes.ReplaceAll(b, s, []byte(p.opts.Dummy))
		}
	}
	return b
}

// told is a turn as it is told: without keys that pass, should the server repeat them in
// what the model says.
func (x *exchange) told(t Turn) Turn {
	if !x.opts.PassKeys {
		return t
	}
	for _, s := range []*string{&t.Model, &t.Text, &t.Reasoning, &t.Thought, &t.Refused, &t.Flowed} {
		*s = x.hidden(*s)
	}
	for _, calls := range []*[]Call{&t.Calls, &t.Hosted} {
		*calls = slices.Clone(*calls)
		for i := range *calls {
			c := &(*calls)[i]
			c.Name, c.Args = x.hidden(c.Name), x.hidden(c.Args)
		}
	}
	if t.Draft != nil {
		draft := x.told(*t.Draft)
		t.Draft = &draft
	}
	return t
}

// surely is the length from which on what a header holds is no word of a text's own: what
// is hidden from a turn changes what an Editor sees.
const surely = 16

func (x *exchange) hidden(s string) string { return string(x.without([]byte(s), surely)) }

// credential is a header that may hold a key, a token or the like.
var credential = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|credential|passw|signature|^sig$`)

// hide takes keys that pass out of what the proxy says itself.
func (x *exchange) hide(b []byte) []byte {
	if !x.opts.PassKeys {
		return b
	}
	return x.without(b, 0)
}

// without takes out keys that have so many bytes.
func (x *exchange) without(b []byte, least int) []byte {
	if x.shown == nil {
		x.shown = shown(x.in)
	}
	for _, s := range x.shown {
		if len(s) >= least && bytes.Contains(b, s) {
			b = bytes.ReplaceAll(b, s, []byte("[key]"))
		}
	}
	return b
}

// errPieces: what comes in one piece clean has replaced, what is put together it cannot.
var errPieces = errors.New("the server repeats the key, in pieces: its answer is not taken")

// tells reports whether a turn that was put together has the key in what it says.
func (p *Proxy) tells(t Turn) bool {
	said := []string{t.Model, t.Text, t.Reasoning, t.Refused}
	for _, c := range slices.Concat(t.Calls, t.Hosted) {
		said = append(said, c.ID, c.Namespace, c.Name, c.Args)
	}
	return slices.ContainsFunc(p.secret, func(s []byte) bool {
		return slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, string(s)) })
	})
}

// shown are the keys of a request, in all spellings. They are remembered no longer than it.
func shown(in *http.Request) [][]byte {
	all := [][]byte{}
	add := func(value string) {
		if len(value) >= ShortestKey/2 { // less could not be told from text, and is nobody's key
			all = append(all, spellings(value)...)
		}
	}
	for name, values := range in.Header {
		if !credential.MatchString(name) {
			continue
		}
		for _, value := range values {
			add(value)
			for _, part := range strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(" ;,=", c) }) {
				add(part)
			}
		}
	}
	if _, password, ok := in.BasicAuth(); ok {
		add(password)
	}
	for name, values := range in.URL.Query() {
		if credential.MatchString(name) {
			for _, value := range values {
				add(value)
			}
		}
	}
	return all
}
