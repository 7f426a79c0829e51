// Package screen looks through everything that a subject or a reader of a suite could
// see, before the suite is released: for secrets, personal data, addresses and links
// that exist, real organisations and people, slurs, sexual description, exploit text
// and recipes (specification §10, docs/screening.md).
//
// Texts is the core and works on any text, so that a generator or an import of seeds
// can use it; Suite and Report put a suite on top of it. A finding that blocks must go
// before a release; one to review needs a person's eye and, where it is right, an entry
// in the allow list that says why.
//
// What is sensitive is redacted when it is found: no finding, table or page holds a
// secret whole.
package screen
