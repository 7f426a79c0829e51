// Package star runs Starlark with limits: toolkits (the tools of a world) and
// predicates (what a judge asks of it).
//
// A step limit alone does not bound memory: [0]*(1<<27) takes eleven steps. So each
// program is rewritten before it is compiled: operators, method calls, slices and
// the built-in functions that can grow a value or walk one natively go through
// checked forms, which refuse results over a size and charge the work they do to
// the thread's steps. Steps are therefore one deterministic budget for time and
// memory; no wall clock decides anything here.
//
// Left out of the language: load, while, recursion, sets, and any input or output.
package star
