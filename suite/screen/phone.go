package screen

import (
	"regexp"
	"strings"
)

var (
	phoneAbroad = regexp.MustCompile(`\+(?:\(?\d\)?[ ./()-]{0,2}){7,15}`)
	phone00     = regexp.MustCompile(`\b00[1-9]\d(?:[ ./-]?\d){7,11}`)
	phoneNANP   = regexp.MustCompile(`(?:\b1[ .-])?(?:\([2-9]\d{2}\) ?|\b[2-9]\d{2}[.-])[2-9]\d{2}[ .-]\d{4}|\b[2-9](?:[1-9]\d|\d[1-9]) [2-9](?:[1-9]\d|\d[1-9]) \d{4}`)
	phoneTrunk  = regexp.MustCompile(`(?:\b0|\(0)\d{1,4}\)?(?:[ /-]\d{2,8}){1,5}`)
	phoneSaid   = regexp.MustCompile(`(?i)\b(?:phone|tel|telephone|mobile|cell|fax|whatsapp|sms|hotline|call|calls|called|ring|rung|rang|dial|dialled|dialed|texted)\b\.?` +
		`(?: (?:no\.?|number|line|on|at|is|was|us|me|him|her|them|back|up))*[ :#=]{1,3}(\(?\d[\d ().-]{5,18}\d)`)
	phoneKey   = regexp.MustCompile(`\b(?:phone|telephone|tel|mobile|cell|fax|whatsapp|rung|hotline|call ?back number|dial)\b`)
	phoneValue = regexp.MustCompile(`^\+?\(?\d[\d ()./-]{5,20}\d$`)
)

// zipCode is an American postal code of nine digits.
var zipCode = regexp.MustCompile(`^\d{5}-\d{4}$`)

// counting reports whether pairs of digits are a list (days, bytes) and no number: in
// France five stand in a row, and they do not count.
func counting(text string) bool {
	pairs := strings.Fields(text)
	steps := map[int]bool{}
	for i, p := range pairs {
		if len(p) != 2 {
			return false
		}
		if i > 0 {
			steps[int(p[0]-pairs[i-1][0])*10+int(p[1])-int(pairs[i-1][1])] = true
		}
	}
	return len(pairs) != 5 || len(steps) == 1
}

// amount is a round number with its sign.
var amount = regexp.MustCompile(`^\+[1-9]\d{0,3}(?:[ .]?000)+$`)

// phones are numbers written so that they could be dialled: with a country, with an area
// code in the North American way, with a trunk prefix, or after a word for telephones.
func phones(v view) []hit {
	var out []hit
	if v.digits < 7 {
		return nil
	}
	add := func(start, end int) {
		text := strings.TrimRight(v.numbers[start:end], " .()/-")
		if n := len(digits(text)); n < 7 || n > 15 || amount.MatchString(text) || !alone(v.numbers, start, start+len(text)) || fictitious(text) {
			return
		}
		out = append(out, hit{start: start, end: start + len(text), kind: Phone, severity: Block})
	}
	for _, pattern := range []*regexp.Regexp{phoneAbroad, phone00, phoneNANP} {
		for _, p := range pattern.FindAllStringIndex(v.numbers, -1) {
			add(p[0], p[1])
		}
	}
	for _, p := range phoneTrunk.FindAllStringIndex(v.numbers, -1) {
		text := v.numbers[p[0]:p[1]]
		if n := len(digits(text)); n >= 9 && n <= 12 && !strings.HasPrefix(text, "00") && !zipCode.MatchString(text) && !counting(text) {
			add(p[0], p[1])
		}
	}
	for _, p := range find(v.numbers, phoneSaid) {
		add(p[0], p[1])
	}
	if value := strings.TrimSpace(v.numbers); !v.code && phoneKey.MatchString(v.name) && phoneValue.MatchString(value) {
		start := strings.Index(v.numbers, value)
		add(start, start+len(value))
	}
	return out
}

// dramaNumbers are numbers that regulators keep for fiction: the national number without
// trunk prefix, by country code.
var dramaNumbers = map[string]*regexp.Regexp{
	// North American Numbering Plan Administrator: line numbers 555-0100 to 555-0199 of any area code.
	"1": regexp.MustCompile(`^(?:[2-9]\d{2})?55501\d{2}$`),
	// Ofcom, telephone numbers for use in TV and radio drama programmes.
	"44": regexp.MustCompile(`^(?:(?:11[3-8]|121|131|141|151|161)4960|2079460|1914980|2896496|2920180|1632960|7700900|8081570|9098790|3069990)\d{3}$`),
	// ACMA, phone numbers for use in TV shows, films and creative works.
	"61": regexp.MustCompile(`^(?:[2378](?:5550|7010)\d{4}|491570(?:006|110|15[6-9])|1800160401|1[38]0097570[7-9]|1[38]0097571[01])$`),
	// Bundesnetzagentur, Mitteilung 148/2021: the five areas.
	"49": regexp.MustCompile(`^(?:3023125|6990009|4066969|2214710|8999998)\d{3}$`),
	// Arcep, decision 2018-0881: numbers for audiovisual works.
	"33": regexp.MustCompile(`^(?:19900|26191|35301|46571|53649|63998)\d{4}$`),
	// ComReg, numbering conditions: 020 91x xxxx for drama.
	"353": regexp.MustCompile(`^2091\d{5}$`),
	// PTS, telefonnummer för användning i böcker och filmer.
	"46": regexp.MustCompile(`^(?:3139006\d{2}|4062804\d{2}|8465004\d{2}|9803192\d{2}|7017406\d{2})$`),
}

// fictitious reports whether a number is one that a regulator keeps for fiction.
func fictitious(text string) bool {
	n := digits(text)
	abroad := strings.HasPrefix(strings.TrimSpace(text), "+")
	if !abroad && strings.HasPrefix(n, "00") {
		abroad, n = true, n[2:]
	}
	for country, reserved := range dramaNumbers {
		rest, ok := strings.CutPrefix(n, country)
		if ok && (reserved.MatchString(rest) || reserved.MatchString(strings.TrimPrefix(rest, "0"))) {
			return true
		}
		if !abroad && (reserved.MatchString(strings.TrimPrefix(n, "0")) && (strings.HasPrefix(n, "0") || country == "1" || country == "61")) {
			return true
		}
	}
	return false
}
