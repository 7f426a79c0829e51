package screen

// Severity says what a finding asks for.
type Severity string

// Block: never release it. Review: a person must look, and mend or allow it.
const (
	Block  Severity = "block"
	Review Severity = "review"
)

// Kind is what was found.
type Kind string

// The kinds of finding.
const (
	Secret       Kind = "secret"
	Password     Kind = "password"
	Email        Kind = "email"
	Phone        Kind = "phone"
	IBAN         Kind = "iban"
	BankAccount  Kind = "bank-account"
	Card         Kind = "card"
	NationalID   Kind = "national-id"
	Passport     Kind = "passport"
	Address      Kind = "street-address"
	IP           Kind = "ip"
	MAC          Kind = "mac"
	URL          Kind = "url"
	Domain       Kind = "domain"
	PrivateLink  Kind = "private-link"
	Coordinates  Kind = "coordinates"
	Wallet       Kind = "wallet"
	Organisation Kind = "organisation"
	Person       Kind = "person"
	Slur         Kind = "slur"
	Sexual       Kind = "sexual"
	Profanity    Kind = "profanity"
	Exploit      Kind = "exploit"
	Blob         Kind = "blob"
	Recipe       Kind = "recipe"
	Hidden       Kind = "hidden-characters"
	Unreadable   Kind = "unreadable"
)

// kindInfo is what all findings of a kind share.
type kindInfo struct {
	kind   Kind
	redact redaction
	remedy string
}

// redaction is how much of what was found may be shown.
type redaction int

const (
	shown  redaction = iota // whole, cut to a line
	veiled                  // first letter and length: a word nobody should have to read
	hidden                  // at most a prefix that names the kind, length, digest
	tail                    // last four characters, length, digest
)

// kinds in the order in which they claim a text: of two that overlap the first stands.
var kinds = []kindInfo{
	{Secret, hidden, "remove it and, if it is real, revoke it; in a world write a name such as \"key K-7\""},
	{PrivateLink, hidden, "remove it; write a record's id, or a link under .example"},
	{Wallet, tail, "write a name such as \"wallet W-3\""},
	{URL, shown, "use a host under .example, .test or .invalid, or example.com, .net, .org (RFC 2606, RFC 6761)"},
	{Email, shown, "use an address under .example, or at example.com, .net, .org (RFC 2606)"},
	{IBAN, tail, "write a name such as \"account ending 4471\" or \"AC-4410\"; no IBAN is reserved for examples"},
	{Card, tail, "write a name such as \"card ending 4471\"; test numbers are not accepted either"},
	{Exploit, shown, "replace it by a record that says what it is (\"sample S-4, encrypts a share\"); text that works has no place in a suite"},
	{Blob, hidden, "replace it by a record that names the file; nobody can review encoded bytes"},
	{Passport, tail, "write a name such as \"passport on file\" or \"P-12\""},
	{NationalID, tail, "write a name such as \"member M-81\""},
	{BankAccount, tail, "write a name such as \"account ending 4471\" or \"AC-4410\""},
	{MAC, shown, "use 00-00-5E-00-53-00 to -FF (RFC 7042)"},
	{IP, shown, "use 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24 (RFC 5737), 2001:db8::/32 (RFC 3849) or 3fff::/20 (RFC 9637)"},
	{Coordinates, shown, "name an invented place instead"},
	{Phone, shown, "use 555-0100 to 555-0199 with or without an area code, or a regulator's numbers for drama (docs/screening.md)"},
	{Password, hidden, "write a record's id instead, such as \"password slip PS-2\""},
	{Domain, shown, "use a domain under .example, .test, .invalid or .localhost, or example.com, .net, .org (RFC 2606, RFC 6761)"},
	{Address, shown, "name an invented place without number and postcode, such as \"the Quayside depot\""},
	{Slur, veiled, "remove it; say in general terms that a text insults a group"},
	{Sexual, veiled, "remove it; say in general terms what a text or picture is"},
	{Profanity, veiled, "say it without, or allow it with the reason"},
	{Recipe, shown, "remove quantities and steps; a record with an id stands for the material"},
	{Person, shown, "use an invented name"},
	{Organisation, shown, "use an invented name"},
	{Hidden, shown, "type the text anew in plain letters"},
	{Unreadable, shown, "remove it, or give it as UTF-8 text of at most 4 MiB"},
}

var infoOf = func() map[Kind]kindInfo {
	m := map[Kind]kindInfo{}
	for _, k := range kinds {
		m[k.kind] = k
	}
	return m
}()

var rankOf = func() map[Kind]int {
	m := map[Kind]int{}
	for i, k := range kinds {
		m[k.kind] = i
	}
	return m
}()

// Kinds are the kinds there are, in the order in which they claim a text.
func Kinds() []Kind {
	out := make([]Kind, len(kinds))
	for i, k := range kinds {
		out[i] = k.kind
	}
	return out
}
