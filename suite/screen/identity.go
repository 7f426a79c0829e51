package screen

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// identity is a number that a state gives a person.
type identity struct {
	shape *regexp.Regexp
	right func(string) bool // nil: any
	said  *regexp.Regexp    // what must stand before it or in its key; nil: the shape is enough
	kind  Kind
	block bool
}

// said makes the pattern of words that must stand shortly before a number.
func said(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + words + `)s?\b[^\n]{0,25}$`)
}

// The numbers whose check digits or shape are published by the states that give them.
var identityShapes = sync.OnceValue(func() []identity {
	return []identity{
		// United States: SSN. Area 000, 666 and 9xx, group 00 and serial 0000 are never given (SSA).
		{regexp.MustCompile(`\d{3}-\d{2}-\d{4}`), ssn, nil, NationalID, true},
		{regexp.MustCompile(`\d{3} ?\d{2} ?\d{4}`), ssn, said(`ssn|social security(?: number)?`), NationalID, true},
		// United Kingdom: National Insurance number (HMRC); the prefix QQ is kept for examples.
		{regexp.MustCompile(`[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] \d{2} \d{2} \d{2} [A-D]`), nino, nil, NationalID, true},
		{regexp.MustCompile(`[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]`), nino, nil, NationalID, false},
		// Spain: DNI and NIE.
		{regexp.MustCompile(`[XYZ\d]\d{7}-?[A-Z]`), dni, said(`dni|nie|nif|identity|national id`), NationalID, true},
		// Italy: codice fiscale.
		{regexp.MustCompile(`[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]`), nil, nil, NationalID, true},
		// France: numéro de sécurité sociale.
		{regexp.MustCompile(`[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3} ?\d{2}`), nir, nil, NationalID, true},
		// China: resident identity number (GB 11643).
		{regexp.MustCompile(`[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]`), china, nil, NationalID, true},
		// Brazil: CPF as it is written.
		{regexp.MustCompile(`\d{3}\.\d{3}\.\d{3}-\d{2}`), cpf, nil, NationalID, true},
		// Sweden: personnummer, with a date in it.
		{regexp.MustCompile(`\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[-+]\d{4}`), func(s string) bool { return luhn(digits(s)) }, nil, NationalID, true},
		// Told by their name only: Poland, the Netherlands, Canada, Australia, India, NHS.
		{regexp.MustCompile(`\d(?:[ -]?\d){7,12}`), nil, said(`pesel|bsn|burgerservicenummer|sin|social insurance(?: number)?|tfn|tax file(?: number)?|aadhaar|nhs(?: number)?|medicare(?: number)?|personnummer|steuer-?id`), NationalID, true},
		// Passports and identity documents: the name, then a number; or the machine-readable zone (ICAO 9303).
		{regexp.MustCompile(`P[A-Z<][A-Z]{3}[A-Z<]{39}`), nil, nil, Passport, true},
		{regexp.MustCompile(`[A-Z\d]{6,9}`), func(s string) bool { return len(digits(s)) >= 4 }, regexp.MustCompile(`(?i)\b(?:passport|reisepass|passeport)(?: (?:number|no\.?|nr\.?|is|held|of|#))*[ :#=]{1,3}$`), Passport, false},
		{regexp.MustCompile(`[A-Z]{0,5}\d[A-Z\d]{5,14}`), nil, regexp.MustCompile(`(?i)\b(?:(?:national|tax) id(?:entity|entification)?|identity card|id card|driv(?:ing|er'?s?) licen[cs]e)(?: (?:card|number|no\.?|nr\.?|is|#))*[ :#=]{1,3}$`), NationalID, false},
	}
})

var identityKey = regexp.MustCompile(`\b(?:ssn|social security|passport|national id|tax id|nhs|aadhaar|pesel|bsn|dni|nie|nif|licence number|driving licence)\b`)

func identities(v view) []hit {
	var out []hit
	if v.digits < 5 && v.longest < 44 {
		return nil
	}
	for _, id := range identityShapes() {
		for _, p := range find(v.numbers, id.shape) {
			text := v.numbers[p[0]:p[1]]
			byKey := !v.code && id.said != nil && identityKey.MatchString(v.name) && strings.TrimSpace(v.numbers) == text
			if id.right != nil && !id.right(text) || id.said != nil && !byKey && !id.said.MatchString(v.numbers[:p[0]]) {
				continue
			}
			severity := Review
			if id.block {
				severity = Block
			}
			out = append(out, hit{start: p[0], end: p[1], kind: id.kind, severity: severity})
		}
	}
	return out
}

// ssn is false for numbers never given, and for 987-65-4320 to -4329, which the Social
// Security Administration keeps for advertisements.
func ssn(text string) bool {
	n := digits(text)
	return len(n) == 9 && n[:3] != "000" && n[:3] != "666" && n[0] != '9' && n[3:5] != "00" && n[5:] != "0000"
}

// nino is false for prefixes that are never given (HMRC, NIM39110).
func nino(text string) bool {
	switch text[:2] {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ", "QQ":
		return false
	}
	return true
}

func dni(text string) bool {
	text = strings.ReplaceAll(text, "-", "")
	number := strings.NewReplacer("X", "0", "Y", "1", "Z", "2").Replace(text[:1]) + text[1:len(text)-1]
	n, err := strconv.Atoi(number)
	return err == nil && "TRWAGMYFPDXBNJZSQVHLCKE"[n%23] == text[len(text)-1]
}

func nir(text string) bool {
	n := digits(text)
	if len(n) != 15 {
		return false
	}
	number, _ := strconv.ParseInt(n[:13], 10, 64)
	check, _ := strconv.ParseInt(n[13:], 10, 64)
	return 97-number%97 == check
}

func china(text string) bool {
	sum, weight := 0, 1
	for i := 16; i >= 0; i-- {
		weight = weight * 2 % 11
		sum += int(text[i]-'0') * weight
	}
	return strings.ToUpper(text[17:]) == string("10X98765432"[sum%11])
}

func cpf(text string) bool {
	n := digits(text)
	for length := 9; length <= 10; length++ {
		sum := 0
		for i := range length {
			sum += int(n[i]-'0') * (length + 1 - i)
		}
		if sum*10%11%10 != int(n[length]-'0') {
			return false
		}
	}
	return strings.Count(n, n[:1]) != len(n)
}
