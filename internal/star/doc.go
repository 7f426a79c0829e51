// Package star runs Starlark with limits: toolkits (the tools of a world) and
// predicates (what a judge asks of it).
//
// A step limit alone does not bound memory: [0]*(1<<27) takes eleven steps. So each
// program is rewritten before it is compiled: operators, method calls, slices, keys
// and the built-in functions that can grow a value or walk one natively go through
// checked forms, which refuse results over a size and charge the work they do to
// the thread's steps. What the source itself makes large (a function's frame, the
// number of functions, literals) is vetted before. Steps are therefore one
// deterministic budget for time and memory; no wall clock decides anything here.
//
// A program that ends within its bounds does what it does in plain Starlark
// (semantics_test.go compares them); limits_test.go lists the ways to want more.
//
// Left out of the language: load, while, recursion, sets, *args and **kwargs as
// parameters, getattr, hasattr, dir, and any input or output.
package star
