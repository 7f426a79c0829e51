package screen

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// lookalikes are letters of other scripts that are drawn like Latin ones, and the
// punctuation that has several forms. Source: the single-letter confusables of Unicode
// Technical Standard 39 for Cyrillic and Greek.
var lookalikes = strings.NewReplacer(
	"а", "a", "в", "b", "с", "c", "ԁ", "d", "е", "e", "һ", "h", "і", "i", "ј", "j", "к", "k", "ӏ", "l", "м", "m", "о", "o", "р", "p",
	"ԛ", "q", "ѕ", "s", "т", "t", "у", "y", "ѵ", "v", "ԝ", "w", "х", "x",
	"А", "A", "В", "B", "С", "C", "Е", "E", "Н", "H", "І", "I", "Ј", "J", "К", "K", "М", "M", "О", "O", "Р", "P", "Ѕ", "S", "Т", "T",
	"У", "Y", "Х", "X", "Ԍ", "G", "Ѡ", "W",
	"α", "a", "ε", "e", "ι", "i", "κ", "k", "ν", "v", "ο", "o", "ρ", "p", "τ", "t", "υ", "u", "χ", "x", "γ", "y",
	"Α", "A", "Β", "B", "Ε", "E", "Ζ", "Z", "Η", "H", "Ι", "I", "Κ", "K", "Μ", "M", "Ν", "N", "Ο", "O", "Ρ", "P", "Τ", "T", "Υ", "Y", "Χ", "X",
	"ı", "i", "ɑ", "a", "ɡ", "g", "ɩ", "i", "ʟ", "L",
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "−", "-", "﹣", "-",
	"‘", "'", "’", "'", "“", "\"", "”", "\"", "。", ".", "․", ".", "⁄", "/", "∕", "/", "＠", "@",
	"[.]", ".", "(.)", ".", "[:]", ":", "[@]", "@", // addresses made safe to paste, which a reader mends
)

// normalise undoes what hides a text from a pattern but not from a reader: compatibility
// forms (NFKC), characters that have no width, letters of other scripts that look like
// Latin ones, and digits of other scripts. Line breaks stay.
func normalise(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, text)
	return strings.Map(latinDigit, lookalikes.Replace(norm.NFKC.String(text)))
}

// latinDigit gives a decimal digit of any script as 0 to 9. Unicode has each script's ten
// in a row, from zero (The Unicode Standard, 4.6), and a range of its table holds whole
// rows.
func latinDigit(r rune) rune {
	if r < 0x80 || !unicode.Is(unicode.Nd, r) {
		return r
	}
	for _, row := range unicode.Nd.R16 {
		if rune(row.Lo) <= r && r <= rune(row.Hi) {
			return '0' + (r-rune(row.Lo))%10
		}
	}
	for _, row := range unicode.Nd.R32 {
		if rune(row.Lo) <= r && r <= rune(row.Hi) {
			return '0' + (r-rune(row.Lo))%10
		}
	}
	return r
}

// invisible are characters that show nothing: format characters (zero-width spaces and
// joiners, directional controls, tags), soft hyphens, variation selectors, fillers.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF || r == 0x034F || r == 0x115F || r == 0x1160 || r == 0x3164
}

// plainWord is a word as lists are asked for it: lower case, without marks.
func plainWord(word string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(word) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// concealed finds characters that hide a text: those that show nothing, within or
// beside words, and words that mix Latin letters with their look-alikes.
func concealed(text string) string {
	previous := rune(0)
	for _, r := range text {
		joinsEmoji := (r == 0x200D || r >= 0xFE00 && r <= 0xFE0F) && (unicode.Is(unicode.So, previous) || unicode.Is(unicode.Sk, previous))
		if invisible(r) && !joinsEmoji {
			return "a character without width, " + codePoint(r)
		}
		previous = r
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		latin, other := false, rune(0)
		for _, r := range word {
			switch {
			case unicode.Is(unicode.Latin, r):
				latin = true
			case lookalikes.Replace(string(r)) != string(r):
				other = r
			}
		}
		if latin && other != 0 {
			return "a word that mixes alphabets, with " + codePoint(other)
		}
	}
	return ""
}

func codePoint(r rune) string {
	const digits = "0123456789ABCDEF"
	out := []byte("U+")
	shift := 12
	if r > 0xFFFF {
		shift = 20
	}
	for ; shift >= 0; shift -= 4 {
		out = append(out, digits[r>>shift&0xF])
	}
	return string(out)
}

// literals blanks all of a Starlark source but the contents of texts and comments, and
// keeps every byte's place: names, attributes and numbers of a program are no content.
func literals(code string) string {
	out := []byte(code)
	for i := range out {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	keep := func(from, to int) { copy(out[from:to], code[from:to]) }
	for i := 0; i < len(code); {
		switch c := code[i]; c {
		case '#':
			end := len(code)
			if n := strings.IndexByte(code[i:], '\n'); n >= 0 {
				end = i + n
			}
			keep(i+1, end)
			i = end
		case '"', '\'':
			from, to, next := literal(code, i)
			keep(from, to)
			i = next
		default:
			i++
		}
	}
	return string(out)
}

// literal gives the contents of the text that begins at i, and where the code goes on.
func literal(code string, i int) (from, to, next int) {
	quote := code[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(code[i:], triple) {
		quote = triple
	}
	from = i + len(quote)
	for j := from; j < len(code); j++ {
		switch {
		case code[j] == '\\':
			j++
		case strings.HasPrefix(code[j:], quote):
			return from, j, j + len(quote)
		case code[j] == '\n' && len(quote) == 1:
			return from, j, j
		}
	}
	return from, len(code), len(code)
}
