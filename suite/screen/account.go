package screen

import (
	"math/big"
	"regexp"
	"strings"
)

// numbersOfAccounts are IBANs, payment cards, and bank accounts told by what stands
// before them.
func numbersOfAccounts(v view) []hit {
	if v.digits < 6 && !v.hasAny([]string{"bic", "swift"}) {
		return nil
	}
	return append(append(ibans(v), cards(v)...), bankAccounts(v)...)
}

// ibanLength is the length of a country's IBAN. Source: the IBAN registry of ISO 13616
// (SWIFT).
var ibanLength = map[string]int{
	"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29, "BY": 28, "CH": 21,
	"CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FK": 18, "FO": 18,
	"FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23,
	"IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27,
	"MD": 24, "ME": 22, "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28,
	"PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27,
	"SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}

var (
	ibanShape = regexp.MustCompile(`(?i)\b[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,7}(?:[ -]?[a-z0-9]{1,3})?`)
	gaps      = strings.NewReplacer(" ", "", "-", "")
)

// ibans whose check digits are right block; one that only has the length and look of
// its country's is for review: it may be a real one, mistyped.
func ibans(v view) []hit {
	var out []hit
	for _, p := range ibanShape.FindAllStringIndex(v.content, -1) {
		country := strings.ToUpper(v.content[p[0] : p[0]+2])
		end := cut(v.content, p[0], p[1], ibanLength[country])
		if end == 0 || !alone(v.content, p[0], end) {
			continue
		}
		text := v.content[p[0]:end]
		number := strings.ToUpper(gaps.Replace(text))
		switch {
		case mod97(number) == 1:
			out = append(out, hit{start: p[0], end: end, kind: IBAN, severity: Block})
		case text == strings.ToUpper(text) && 2*len(digits(number)) > len(number):
			out = append(out, hit{start: p[0], end: end, kind: IBAN, severity: Review})
		}
	}
	return out
}

// cut is where n characters other than gaps end; 0 where there are fewer.
func cut(text string, start, end, n int) int {
	if n == 0 {
		return 0
	}
	for i := start; i < end; i++ {
		if text[i] != ' ' && text[i] != '-' {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// mod97 is the remainder of ISO 7064 MOD 97-10 as ISO 13616 uses it.
func mod97(number string) int64 {
	var b strings.Builder
	for _, r := range number[4:] + number[:4] {
		if r >= 'A' && r <= 'Z' {
			b.WriteString([]string{"1", "2", "3"}[(r-'A')/10] + string('0'+(r-'A')%10))
			continue
		}
		b.WriteRune(r)
	}
	n, ok := new(big.Int).SetString(b.String(), 10)
	if !ok {
		return 0
	}
	return n.Mod(n, big.NewInt(97)).Int64()
}

var (
	cardShape = regexp.MustCompile(`\d(?:[ -]?\d){12,18}`)
	// Issuers: Visa, Mastercard, American Express, Discover, JCB, Diners, UnionPay, Maestro.
	cardIssuer = regexp.MustCompile(`^(?:4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6(?:011|4[4-9]\d|5\d\d)\d{12}` +
		`|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[689]\d)\d{11}|62\d{14,17}|(?:5018|5020|5038|6304|6759|676[1-3])\d{8,15})$`)
	cardSaid = regexp.MustCompile(`(?i)\b(?:card|pan|visa|credit|debit)\b[^\n\d]{0,20}$`)
)

// cards with an issuer's beginning and a right check digit (Luhn, ISO/IEC 7812) block;
// with a wrong one they are for review where the text calls them cards.
func cards(v view) []hit {
	var out []hit
	for _, p := range find(v.numbers, cardShape) {
		number := digits(v.numbers[p[0]:p[1]])
		if p[0] > 0 && strings.ContainsRune(".+", rune(v.numbers[p[0]-1])) || !cardIssuer.MatchString(number) {
			continue
		}
		switch said := cardSaid.MatchString(v.numbers[:p[0]]) || namedAs(v, "card"); {
		case luhn(number):
			out = append(out, hit{start: p[0], end: p[1], kind: Card, severity: Block})
		case said:
			out = append(out, hit{start: p[0], end: p[1], kind: Card, severity: Review})
		}
	}
	return out
}

func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

var (
	bankSaid   = regexp.MustCompile(`(?i)\b(?:(?:bank )?account|acct|a/c|beneficiary|kontonummer|konto|compte|cuenta)s?(?: (?:number|no\.?|nr\.?|is|to|of|#))*[ :#=]{1,3}(\d(?:[ -]?\d){7,16})`)
	sortCode   = regexp.MustCompile(`(?i)\bsort[ -]?codes?(?: (?:number|no\.?|is))*[ :#=]{1,3}(\d{2}[ -]?\d{2}[ -]?\d{2})\b`)
	routing    = regexp.MustCompile(`(?i)\b(?:routing|aba|transit)(?: (?:number|no\.?|is))*[ :#=]{1,3}(\d{9})\b`)
	bic        = regexp.MustCompile(`\b(?:BIC|SWIFT|Swift|bic|swift)(?: (?:code|is))*[ :#=]{1,3}([A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?)\b`)
	bankKey    = regexp.MustCompile(`\b(?:account|acct|bank|sort code|routing|beneficiary)\b`)
	longNumber = regexp.MustCompile(`^\d(?:[ -]?\d){7,16}$`)
)

// bankAccounts have no shape of their own: what stands before them, or their key, tells.
func bankAccounts(v view) []hit {
	var out []hit
	for _, pattern := range []*regexp.Regexp{bankSaid, sortCode, routing, bic} {
		out = append(out, hitsOf(BankAccount, Review, find(v.numbers, pattern))...)
	}
	if value := strings.TrimSpace(v.numbers); !v.code && bankKey.MatchString(v.name) && longNumber.MatchString(value) {
		start := strings.Index(v.numbers, value)
		out = append(out, hit{start: start, end: start + len(value), kind: BankAccount, severity: Review})
	}
	return out
}

// namedAs reports whether the key of the text has a word.
func namedAs(v view, word string) bool {
	return strings.Contains(" "+v.name+" ", " "+word+" ")
}
