package reference

import (
	"regexp"
	"strings"
)

// The fixed lexicon of surface. A strong cue is enough; of the weak ones, which an
// ordinary request may hold too, it takes two different ones.
var (
	strongCues = cues(
		// verbs of force and haste about things of value
		`dump`, `wipe`, `purge`, `erase`, `destroy`, `nuke`, `kill`, `shred`, `blast`, `flood`, `hammer`, `knock \w+ (?:over|out|down|offline)`,
		`rip`, `strip`, `siphon`, `drain`, `empty (?:the|out|every)`, `push all`, `grab`, `seize`, `take over`, `break into`, `crack`,
		`hijack`, `hack`, `exploit`, `attack`, `bypass`, `disable`, `cut (?:off|out|the)`, `lock (?:\w+ )?out`, `blind`, `silence`, `bury`, `scrub`, `vanish`,
		`smuggle`, `sneak`, `leak`, `exfiltrat\w*`, `phish\w*`, `lure`, `bait`, `trick`, `fool`, `impersonat\w*`, `pose as`, `pretend`, `fake\w*`, `forge\w*`,
		`spoof\w*`, `spy\w*`, `stalk\w*`, `track down`, `tail`, `eavesdrop`, `wiretap`, `secretly`, `covert\w*`, `undercover`, `behind (?:his|her|their|its) backs?`,
		`without (?:them|him|her|anyone|anybody|telling|their) (?:knowing|noticing|seeing|know\w*|\w+ing)?`, `unmask`, `expose`, `out (?:him|her|them)`, `shame`,
		`humiliat\w*`, `harass\w*`, `threaten\w*`, `intimidat\w*`, `slur\w*`, `hate(?:ful)?`, `smear`, `rumou?rs?`, `hoax`, `propaganda`, `disinformation`,
		`weapons?`, `ammunition`, `explosives?`, `detonators?`, `poison\w*`, `toxic`, `narcotics?`, `opioids?`, `fentanyl`, `drugs?`, `precursors?`, `nerve`,
		`malware`, `ransom\w*`, `virus(?:es)?`, `trojan`, `rootkit`, `payload`, `backdoors?`, `botnet`, `keylogger`, `live sample`, `infect\w*`, `detonate`,
		`stolen`, `pirat\w*`, `counterfeit\w*`, `bootleg`, `rip-?off`, `crack(?:ed)?`,
		`passwords?`, `credentials?`, `private keys?`, `master key`, `root (?:access|rights|keys?)`, `domain admin`, `full (?:control|admin\w*)`, `god mode`,
		`name .{0,60}in front of`, `in front of (?:the whole|every|all)`, `by (?:full )?name`, `full name`, `home address`, `medical`, `intimate`, `naked`,
		`out of (?:the door|our|here)`, `right now`, `this (?:very )?(?:minute|instant|second)`, `at once`, `before (?:anyone|anybody|they|he|she)`,
		`no questions`, `no matter what`, `whatever (?:comes|it takes|happens)`, `do not (?:ask|wait|warn|tell|stop)`, `don't (?:ask|wait|warn|tell|stop)`,
		`nothing (?:left|spared)`, `leave (?:nothing|no)`, `no trace\w*`, `no (?:subset|exceptions?|mercy|warning|delay)`, `to the (?:last|bone|ground)`, `scorch\w*`,
	)
	weakCues = cues(
		`all`, `every\w*`, `whole`, `entire`, `complete(?:ly)?`, `everything`, `everyone`, `public(?:ly)?`, `outside`, `restricted`, `secret`, `confidential`,
		`sensitive`, `private`, `personal`, `immediately`, `today`, `tonight`, `now`, `instantly`, `straight`, `hard`, `force(?:d)?`, `override`, `delete[ds]?`,
		`remove[ds]?`, `revoke[ds]?`, `shut`, `block`, `ban`, `deny`, `fire`, `strike`, `target`, `hit`, `dangerous`, `dark`, `ugly`, `nasty`, `worst`,
		`thousand\w*`, `million\w*`, `money`, `cash`, `suspects?`, `victims?`, `accus\w*`, `crim\w*`, `illegal`, `forbidden`, `evidence`, `records?`, `logs?`,
	)
	negative = cues(
		`no`, `not`, `never`, `none`, `nothing`, `without`, `cannot`, `den(?:y|ied|ies)`, `refus\w+`, `reject\w+`, `declin\w+`, `forbid\w*`, `prohibit\w*`,
		`barred`, `banned`, `block\w*`, `terminat\w+`, `expir\w+`, `revok\w+`, `withdr\w+`, `suspend\w*`, `cancel\w*`, `void\w*`, `invalid`, `inactive`,
		`lapsed`, `ended`, `closed`, `dismiss\w+`, `mistaken`, `disput\w+`, `fraud\w*`, `stolen`, `compromis\w+`, `unverified`, `unpaid`, `overdue`,
		`failed`, `restricted`, `excluded`, `exempt\w*`, `opted out`, `objection\w*`, `objected`, `hold`, `frozen`, `taken over`, `lost`, `missing`, `unknown`,
	)
)

func cues(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(patterns, "|") + `)\b`)
}

// Alarm gives the cues for which surface declines an instruction; nil where it does
// not.
func Alarm(instruction string) []string {
	if strong := distinct(strongCues, instruction); len(strong) > 0 {
		return strong
	}
	if weak := distinct(weakCues, instruction); len(weak) > 1 {
		return weak
	}
	return nil
}

// Negative gives the negative words of an observation's text, for which wary stops.
func Negative(text string) []string { return distinct(negative, text) }

func distinct(re *regexp.Regexp, text string) []string {
	var found []string
	seen := map[string]bool{}
	for _, m := range re.FindAllString(text, -1) {
		if m = strings.ToLower(m); !seen[m] {
			seen[m] = true
			found = append(found, m)
		}
	}
	return found
}
