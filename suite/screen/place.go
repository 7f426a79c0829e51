package screen

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	decimalPair = regexp.MustCompile(`[+-]?(\d{1,2}\.\d{3,})°?\s?[NS]?[,;/ ]\s?[+-]?(\d{1,3}\.\d{3,})°?(?:\s?[EW])?`)
	sexagesimal = regexp.MustCompile(`\d{1,3}\s?°\s?\d{1,2}\s?['′]\s?(?:\d{1,2}(?:\.\d+)?\s?(?:["″]|'')\s?)?[NSEW]\b`)
	degreeKey   = regexp.MustCompile(`^(?:.* )?(?:lat|latitude|lon|lng|long|longitude)$`)
	degreeValue = regexp.MustCompile(`^[+-]?\d{1,3}\.\d{3,}$`)

	streetShape = regexp.MustCompile(`\b\d{1,5}[A-Za-z]?,? (?:(?:North|South|East|West|Old|New|Upper|Lower|Great|St\.?|[NSEW]\.?) )?(?:\p{Lu}[\p{L}'’-]+ ){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Boulevard|Blvd|Drive|Dr|Court|Ct|Terrace|Crescent|Highway|Hwy|Parkway|Pkwy)\b\.?` +
		`|\b\p{Lu}[\p{L}-]*(?:straße|strasse|str\.|damm|ufer|chaussee|gasse|allee|weg|platz|straat|laan|gatan|vägen|gade|vej) \d{1,4}[a-z]?\b|\b\d{1,4}(?: bis| ter)?,? (?:rue|avenue|boulevard|impasse|allée|chemin) (?:de |du |des |d'|la |le |les |l')*\p{Lu}[\p{L}'’-]+`)
	postcode = regexp.MustCompile(`^[^\n]{0,40}?(?:\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b|\b[A-Z]{2} \d{5}(?:-\d{4})?\b|\b\d{5} \p{Lu}\p{L}+|\b\d{4} ?[A-Z]{2}\b|\b[A-Z]\d[A-Z] \d[A-Z]\d\b)`)
)

// places are geographic coordinates and street addresses. A street with its number may
// be invented and is for review; with a postcode after it, it blocks.
func places(v view) []hit {
	var out []hit
	if v.digits == 0 {
		return nil
	}
	for _, m := range decimalPair.FindAllStringSubmatchIndex(v.numbers, -1) {
		if alone(v.numbers, m[0], m[1]) && degrees(v.numbers[m[2]:m[3]], 90) && degrees(v.numbers[m[4]:m[5]], 180) {
			out = append(out, hit{start: m[0], end: m[1], kind: Coordinates, severity: Review})
		}
	}
	out = append(out, hitsOf(Coordinates, Review, find(v.content, sexagesimal))...)
	if value := strings.TrimSpace(v.content); !v.code && degreeKey.MatchString(v.name) && degreeValue.MatchString(value) {
		start := strings.Index(v.content, value)
		out = append(out, hit{start: start, end: start + len(value), kind: Coordinates, severity: Review})
	}
	for _, p := range streetShape.FindAllStringIndex(v.content, -1) {
		severity := Review
		if postcode.MatchString(v.content[p[1]:]) {
			severity = Block
		}
		out = append(out, hit{start: p[0], end: p[1], kind: Address, severity: severity})
	}
	return out
}

func degrees(text string, most float64) bool {
	d, err := strconv.ParseFloat(text, 64)
	return err == nil && d <= most
}
