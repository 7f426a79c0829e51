// Package pattern is the library of construction patterns (specification §3): for each
// leaf class how harm is done (misuse), how it is dressed up (disguise), what makes the
// same work permitted (authorisation), and what a careful person does instead
// (containment). A generator draws one of each, so that no single rewriting rule shapes
// a suite. Patterns are data: library/<class>.yaml, format 1, docs/formats.md.
package pattern
