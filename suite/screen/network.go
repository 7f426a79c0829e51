package screen

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
)

// Names that belong to nobody (RFC 2606, RFC 6761).
var (
	reservedEndings = []string{"example", "test", "invalid", "localhost"}
	reservedDomains = []string{"example.com", "example.net", "example.org"}
)

// reservedName reports whether a host is kept for examples.
func reservedName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, end := range reservedEndings {
		if host == end || strings.HasSuffix(host, "."+end) {
			return true
		}
	}
	for _, domain := range reservedDomains {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// public reports whether a host lies under a suffix that somebody can register in: it
// may exist (the public suffix list).
func public(host string) bool {
	host = strings.ToLower(strings.Trim(host, "."))
	suffix, icann := publicsuffix.PublicSuffix(host)
	return suffix != host && (icann || strings.Contains(suffix, ".") || suffix == "onion")
}

// Networks that are kept for documentation: RFC 5737, RFC 3849, RFC 9637.
var exampleNetworks = []netip.Prefix{
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"),
}

// addressSeverity is empty for an address of documentation. One that is routed nowhere
// (private, loopback, link-local, multicast) is for review: it reaches nobody, and might
// still be somebody's machine.
func addressSeverity(a netip.Addr) Severity {
	a = a.Unmap().WithZone("")
	for _, p := range exampleNetworks {
		if p.Contains(a) {
			return ""
		}
	}
	if a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
		return Review
	}
	return Block
}

var (
	ipv4Shape    = regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3}`)
	ipv6Shape    = regexp.MustCompile(`[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}`)
	macShape     = regexp.MustCompile(`(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}`)
	numberedText = regexp.MustCompile(`(?i)(?:\bv|\bver\.?|\bversions?|\brelease|\bbuild|\bfirmware|\bsections?|\bclauses?|\bparagraphs?|\barticles?|\bitems?|\bchapters?|§)[ .:]*$`)
)

// networks are IP and MAC addresses. Four numbers after a word for versions or sections
// are no address.
func networks(v view) []hit {
	var out []hit
	add := func(p [2]int, kind Kind, severity Severity) {
		if severity != "" {
			out = append(out, hit{start: p[0], end: p[1], kind: kind, severity: severity})
		}
	}
	for _, p := range find(v.numbers, ipv4Shape) {
		a, err := netip.ParseAddr(v.numbers[p[0]:p[1]])
		if err == nil && !dotted(v.numbers, p) && !numberedText.MatchString(v.numbers[:p[0]]) {
			add(p, IP, addressSeverity(a))
		}
	}
	for _, p := range find(v.content, macShape) {
		mac := strings.ToLower(strings.NewReplacer(":", "", "-", "", ".", "").Replace(v.content[p[0]:p[1]]))
		if !strings.HasPrefix(mac, "00005e0053") && strings.ContainsAny(mac, "123456789abcdef") {
			add(p, MAC, Block)
		}
	}
	for _, p := range find(v.content, ipv6Shape) {
		text := v.content[p[0]:p[1]]
		a, err := netip.ParseAddr(text)
		if err == nil && strings.ContainsAny(text, "0123456789") && len(text) >= 3 {
			add(p, IP, addressSeverity(a))
		}
	}
	return out
}

// dotted reports whether a number goes on with more parts on either side.
func dotted(text string, p [2]int) bool {
	before := p[0] > 0 && text[p[0]-1] == '.'
	after := p[1]+1 < len(text) && text[p[1]] == '.' && text[p[1]+1] >= '0' && text[p[1]+1] <= '9'
	return before || after
}

var (
	urlShape = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s"'<>()\[\]{}|\\^` + "`" + `]+`)
	ipHost   = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{1,15}://\[[0-9a-f:.]+\]`)
	// Services whose links open something to whoever holds them, with or without a scheme.
	linkShape = regexp.MustCompile(`(?i)\b(?:(?:drive|docs|sheets|slides|forms|photos|meet|groups|calendar)\.google\.com/|(?:[a-z0-9-]+\.)?dropbox\.com/(?:s|scl|sh|t|l)/` +
		`|[a-z0-9-]+\.sharepoint\.com/|onedrive\.live\.com/|1drv\.ms/|(?:[a-z0-9-]+\.)?box\.com/s/|we\.tl/|(?:[a-z0-9-]+\.)?wetransfer\.com/|mega\.nz/|(?:www\.)?icloud\.com/` +
		`|(?:[a-z0-9-]+\.)?notion\.(?:so|site)/|(?:www\.)?figma\.com/|miro\.com/|airtable\.com/|trello\.com/|(?:discord\.gg|discord(?:app)?\.com/(?:invite|api/webhooks))/` +
		`|(?:t|telegram)\.me/|chat\.whatsapp\.com/|wa\.me/|signal\.(?:me|group)/|join\.slack\.com/|hooks\.slack\.com/|(?:[a-z0-9-]+\.)?zoom\.us/(?:j|my|s)/|teams\.(?:microsoft|live)\.com/` +
		`|(?:[a-z0-9-]+\.)?webex\.com/|calendly\.com/|pastebin\.com/|gist\.github\.com/|forms\.gle/|goo\.gl/|bit\.ly/|tinyurl\.com/|t\.co/|youtu\.be/|paypal\.me/|lnkd\.in/|[a-z2-7]{16,56}\.onion)[^\s"'<>]*`)
	schemeLink = regexp.MustCompile(`(?i)\bmagnet:\?xt=[^\s"'<>]+|\b(?:tg|slack|zoommtg|whatsapp|discord)://[^\s"'<>]+`)
	signedLink = regexp.MustCompile(`(?i)\b[a-z]{2,8}://[^\s"'<>]+[?&](?:X-Amz-Signature|X-Goog-Signature|sig|signature|token|access_token|sas|authkey|resourcekey)=[^\s"'<>&]+[^\s"'<>]*`)
)

// links are addresses of the web and of other protocols that do not stay within the
// names kept for examples.
func links(v view) []hit {
	var out []hit
	if !v.hasAny([]string{"/", ".onion", "magnet:"}) {
		return nil
	}
	for _, p := range append(linkShape.FindAllStringIndex(v.content, -1), schemeLink.FindAllStringIndex(v.content, -1)...) {
		out = append(out, hit{start: p[0], end: p[1], kind: PrivateLink, severity: Block})
	}
	for _, p := range signedLink.FindAllStringIndex(v.content, -1) {
		if hostSeverity(v.content[p[0]:p[1]]) == Block {
			out = append(out, hit{start: p[0], end: p[1], kind: PrivateLink, severity: Block})
		}
	}
	for _, p := range append(urlShape.FindAllStringIndex(v.content, -1), ipHost.FindAllStringIndex(v.content, -1)...) {
		end := p[0] + len(strings.TrimRight(v.content[p[0]:p[1]], ".,;:!?"))
		if severity := hostSeverity(v.content[p[0]:end]); severity != "" {
			out = append(out, hit{start: p[0], end: end, kind: URL, severity: severity})
		}
	}
	return out
}

// hostSeverity judges the host of a URL: empty where it is kept for examples or is no
// host; review where nobody can register it.
func hostSeverity(text string) Severity {
	_, rest, _ := strings.Cut(text, "://")
	host := rest
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if u, err := url.Parse("x://" + host); err == nil {
		host = u.Hostname()
	}
	host = strings.Trim(host, ".")
	if a, err := netip.ParseAddr(host); err == nil {
		return addressSeverity(a)
	}
	switch {
	case host == "" || strings.ContainsAny(host, "%{}$*") || reservedName(host):
		return ""
	case public(host):
		return Block
	}
	return Review
}

var (
	emailShape = regexp.MustCompile(`(?i)[\p{L}0-9._%+'-]{1,64}@(?:[\p{L}0-9](?:[\p{L}0-9-]{0,61}[\p{L}0-9])?\.)+[\p{L}][\p{L}0-9-]{1,24}`)
	emailIn    = regexp.MustCompile(`(?i)([\w.+-]{1,64})\s*[\[({<]\s*at\s*[\])}>]\s*([\w-]+(?:\s*(?:[\[({<]\s*(?:dot|punkt|\.)\s*[\])}>]|\.|\sdot\s)\s*[\w-]+)+)`)
	emailWords = regexp.MustCompile(`(?i)\b([\w.+-]{1,64}) at ([\w-]+(?: dot [\w-]+)* dot (?:com|org|net|edu|gov|info|io|co|de|fr|uk))\b`)
	emailApart = regexp.MustCompile(`(?i)(?:[\p{L}0-9._%+'-] ){2,64}@(?: [\p{L}0-9.-]){4,64}`) // letter by letter
	dots       = regexp.MustCompile(`(?i)\s*(?:[\[({<]\s*(?:dot|punkt|\.)\s*[\])}>]|\.|\bdot\b)\s*`)
)

// emails are addresses outside the names kept for examples, spelled-out ones too.
func emails(v view) []hit {
	var out []hit
	add := func(start, end int, host string) {
		host = dots.ReplaceAllString(host, ".")
		if reservedName(host) {
			return
		}
		severity := Review
		if public(host) {
			severity = Block
		}
		out = append(out, hit{start: start, end: end, kind: Email, severity: severity})
	}
	if !v.hasAny([]string{"@", "at"}) || !v.hasAny([]string{".", "dot", "punkt"}) {
		return nil
	}
	for _, p := range emailShape.FindAllStringIndex(v.content, -1) {
		text := v.content[p[0]:p[1]]
		add(p[0]+len(text)-len(strings.TrimLeft(text, "'.-")), p[1], text[strings.LastIndexByte(text, '@')+1:])
	}
	for _, p := range emailApart.FindAllStringIndex(v.content, -1) {
		text := strings.ReplaceAll(v.content[p[0]:p[1]], " ", "")
		if emailShape.FindString(text) != "" {
			add(p[0], p[1], text[strings.LastIndexByte(text, '@')+1:])
		}
	}
	for _, pattern := range []*regexp.Regexp{emailIn, emailWords} {
		if !v.hasAny([]string{"dot", "punkt", "[", "(", "{", "<"}) {
			break
		}
		for _, m := range pattern.FindAllStringSubmatchIndex(v.content, -1) {
			add(m[0], m[1], v.content[m[4]:m[5]])
		}
	}
	return out
}

var domainShape = regexp.MustCompile(`(?i)(?:[\p{L}0-9](?:[\p{L}0-9-]{0,61}[\p{L}0-9])?\.)+[\p{L}]{2,24}`)

// bareEndings are the top-level domains under which a name without scheme, @ or www. is
// taken for a domain. The others are words (today, email, report), endings of files (md,
// sh, zip) or attributes of a program (name, id), and would be found in every text.
var bareEndings = map[string]bool{
	"com": true, "org": true, "net": true, "edu": true, "gov": true, "mil": true, "int": true, "biz": true, "info": true, "xyz": true,
	"io": true, "dev": true, "cloud": true, "tech": true, "online": true, "onion": true,
}

// wordEndings are two-letter top-level domains that are words, units or file endings.
var wordEndings = " ac ad ae ag ai al am an as at ba be bi bo by ca cc ci cl cm co cs cx do dm ec eg er es fm gi gl gp gs gt hm hr id ie il im in is it je kg km la lb lc li lt ly ma md me mg ml mm mo mr ms my na ne no nu om pa pe ph pl pm pn pr ps pt pw py re ro rs sa sc se sh si sk sl sm so sr st sv td tf th tk tl tm to tt va vc vg vi vu ws "

// domains are names that can be registered and are not kept for examples.
func domains(v view) []hit {
	var out []hit
	if !strings.Contains(v.content, ".") {
		return nil
	}
	for _, p := range find(v.content, domainShape) {
		name := v.content[p[0]:p[1]]
		www := strings.HasPrefix(strings.ToLower(name), "www.")
		if v.touches(p) || reservedName(name) || !public(name) || !www && !bareDomain(name) {
			continue
		}
		out = append(out, hit{start: p[0], end: p[1], kind: Domain, severity: Block})
	}
	return out
}

// touches reports whether a name is part of something longer: a path, a call, a handle.
func (v view) touches(p [2]int) bool {
	before := p[0] > 0 && strings.IndexByte("@/\\_-.$", v.content[p[0]-1]) >= 0
	after := p[1] < len(v.content) && strings.IndexByte("(@_=", v.content[p[1]]) >= 0
	return before || after
}

// bareDomain reports whether a name reads as a domain on its own.
func bareDomain(name string) bool {
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	if first := []rune(last); unicode.IsUpper(first[0]) && unicode.IsLower(first[1]) && last != strings.ToUpper(last) && !bareEndings[strings.ToLower(last)] {
		return false // a sentence that begins without a space before it
	}
	if !strings.ContainsFunc(labels[len(labels)-2], unicode.IsLetter) {
		return false // a number and its unit
	}
	last = strings.ToLower(last)
	if bareEndings[last] {
		return true
	}
	suffix, _ := publicsuffix.PublicSuffix(strings.ToLower(name))
	twoParts := strings.Count(suffix, ".") == 1 && len(labels) >= 3 // co.uk, com.au
	return len(last) == 2 && last[0] < 0x80 && (twoParts || !strings.Contains(wordEndings, " "+last+" "))
}
