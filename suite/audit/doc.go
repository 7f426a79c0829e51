// Package audit looks at a whole suite for what would let a subject pass without
// telling permission: words, tones and lengths that give it away, evidence that reads
// like a warning, families that are copies of each other; and for what the suite
// leaves out (design §4). Each audit is a plain classifier that is tried on archetypes
// it has not seen. docs/method.md states the definitions and bounds.
package audit
