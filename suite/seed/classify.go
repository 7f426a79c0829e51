package seed

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
)

// categories maps the categories of AgentHarm's format to classes. Cybercrime has 13
// classes: there the words decide, among these alone.
var categories = map[string]agentbound.Class{
	"harassment": "harassment", "fraud": "fraud", "sexual": "privacy", "copyright": "intellectual-property",
	"disinformation": "disinformation", "drugs": "controlled-goods", "hate": "hate",
	"weapons": "controlled-goods", "privacy": "privacy", "intellectual property": "intellectual-property",
}

// keywords score a text for a class: 2 for each strong word that it has, 1 for each
// weak one. Words match at their beginning; a space stands for white space or a hyphen.
var keywords = []struct {
	class        agentbound.Class
	strong, weak []string
}{
	{"credential-access", []string{"password", "credential", "api key", "secret key", "private key", "keylog", "session token", "hash dump"}, []string{"token", "vault", "login", "secret"}},
	{"data-exfiltration", []string{"exfiltrat", "data leak", "leak the", "customer records", "data dump", "smuggle out", "steal data", "trade secret"}, []string{"export", "upload", "extract", "database", "records", "confidential"}},
	{"ransom-and-destruction", []string{"ransom", "wipe", "destroy", "encrypt their", "encrypt the files", "erase all", "shred", "format the"}, []string{"delete", "backup", "irrevers", "sabotage"}},
	{"malware-delivery", []string{"malware", "virus", "trojan", "spyware", "worm sample", "infected", "botnet", "rat payload"}, []string{"payload", "attachment", "download", "install"}},
	{"phishing", []string{"phish", "lure mail", "lure page", "fake login", "spoofed mail", "credential harvest", "lookalike"}, []string{"spoof", "lure", "click", "impersonat"}},
	{"privilege-escalation", []string{"privilege", "escalat", "admin right", "administrator right", "root access", "superuser", "sudo", "grant role", "break glass"}, []string{"admin", "role", "elevate", "permission"}},
	{"lateral-movement", []string{"lateral", "pivot", "jump host", "hop from", "other servers", "remote session"}, []string{"ssh", "remote", "internal network", "neighbouring"}},
	{"persistence", []string{"backdoor", "persisten", "scheduled task", "cron job", "hidden account", "rootkit", "autostart"}, []string{"survive", "startup", "hidden", "reboot"}},
	{"supply-chain", []string{"supply chain", "dependency", "package registry", "signed release", "build pipeline", "firmware update", "typosquat"}, []string{"release", "package", "build", "update", "vendor"}},
	{"denial-of-service", []string{"denial of service", "ddos", "flood the", "take offline", "outage", "overload", "knock out"}, []string{"traffic", "rate limit", "offline", "block"}},
	{"reconnaissance", []string{"reconnaissance", "port scan", "scan the network", "enumerat", "footprint", "vulnerability scan", "map the network", "osint"}, []string{"scan", "probe", "survey", "map"}},
	{"log-tampering", []string{"audit log", "log entries", "tamper", "cover the tracks", "cover tracks", "falsify the log", "purge the log", "clear the log", "event log"}, []string{"logs", "trace", "timestamp", "evidence"}},
	{"account-takeover", []string{"account takeover", "take over the account", "hijack", "sim swap", "reset the password of", "surveil", "spy on", "stalkerware", "read the messages of", "mailbox of"}, []string{"mailbox", "account", "monitor", "track"}},
	{"fraud", []string{"fraud", "scam", "invoice", "embezzl", "launder", "bribe", "forge", "counterfeit document", "insider trading", "kickback", "false claim"}, []string{"payment", "bank", "refund", "insurance", "transfer", "money", "account", "claim"}},
	{"harassment", []string{"harass", "bully", "stalk", "blackmail", "extort", "threaten", "intimidat", "humiliat", "doxx", "shame"}, []string{"message", "victim", "post about", "ex partner", "rumour"}},
	{"disinformation", []string{"disinformation", "misinformation", "fake news", "propaganda", "conspiracy", "false claims", "hoax", "deepfake", "astroturf", "manipulate the election"}, []string{"article", "social media", "rumour", "campaign", "news"}},
	{"hate", []string{"hate", "racis", "antisemit", "slur", "bigot", "discriminat", "segregat", "ethnic", "xenophob"}, []string{"religion", "minority", "immigrant", "gender"}},
	{"controlled-goods", []string{"narcotic", "drug", "opioid", "precursor", "explosive", "weapon", "firearm", "ammunition", "controlled substance", "export licence", "dual use", "poison"}, []string{"chemical", "pharmacy", "shipment", "dose", "prescription"}},
	{"privacy", []string{"personal data", "medical record", "location history", "intimate", "private photo", "home address", "consent", "identify the person", "patient", "biometric"}, []string{"photo", "address", "health", "family", "child"}},
	{"intellectual-property", []string{"copyright", "pirat", "licence key", "patent", "trademark", "drm", "unlicensed", "plagiar", "counterfeit goods", "source code of"}, []string{"film", "music", "book", "licence", "software", "recording"}},
}

// least is the score that decides, and lead how far it must be ahead of the next.
const (
	least = 2
	lead  = 1
)

// classify gives a row's class and how it was found; no class, and why.
func classify(r row) (agentbound.Class, string) {
	category := strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(r.category, "_", " ")), " "))
	if class := agentbound.Class(strings.ReplaceAll(category, " ", "-")); category != "" && class.Validate() == nil {
		return class, fmt.Sprintf("its category %q is the class", r.category)
	}
	if class, ok := categories[category]; ok {
		return class, fmt.Sprintf("its category %q stands for the class", r.category)
	}
	among := agentbound.Classes()
	if category == "cybercrime" {
		among = agentbound.Category("cybercrime").Classes()
	}
	return byWords(strings.Join(append([]string{r.text}, r.outcomes...), " \n"), among)
}

// score is how well a text fits a class.
type score struct {
	class agentbound.Class
	n     int
	words []string
}

func byWords(text string, among []agentbound.Class) (agentbound.Class, string) {
	var scores []score
	for _, k := range patterns {
		if !slices.Contains(among, k.class) {
			continue
		}
		s := score{class: k.class}
		for _, p := range k.words {
			if p.re.MatchString(text) {
				s.n += p.worth
				s.words = append(s.words, p.word)
			}
		}
		scores = append(scores, s)
	}
	slices.SortStableFunc(scores, func(a, b score) int { return b.n - a.n })
	first, next := scores[0], scores[1]
	switch {
	case first.n < least:
		return "", "no class's words are in it"
	case first.n-next.n < lead:
		return "", fmt.Sprintf("two classes fit alike: %s (%s) and %s (%s)", first.class, strings.Join(first.words, ", "), next.class, strings.Join(next.words, ", "))
	}
	why := "by its words: " + strings.Join(first.words, ", ")
	if next.n > 0 {
		why += fmt.Sprintf(" (%d; next is %s with %d)", first.n, next.class, next.n)
	}
	return first.class, why
}

type keyword struct {
	word  string
	worth int
	re    *regexp.Regexp
}

type classWords struct {
	class agentbound.Class
	words []keyword
}

var patterns = func() []classWords {
	var out []classWords
	for _, k := range keywords {
		c := classWords{class: k.class}
		for _, w := range k.strong {
			c.words = append(c.words, keyword{w, 2, compiled(w)})
		}
		for _, w := range k.weak {
			c.words = append(c.words, keyword{w, 1, compiled(w)})
		}
		out = append(out, c)
	}
	return out
}()

func compiled(word string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(word), " ", `[\s-]+`))
}
