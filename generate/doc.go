// Package generate synthesises families with the validator in the loop (specification
// §3): draw a class and patterns, have one family written in the order HS, CM, EB, HB,
// validate it, hand back what failed, have it revised, or draw anew. The writer is an
// engine: a model (lm), or whoever answers by file (file). Everything that was asked,
// answered and found is kept in a folder, and the same command goes on from there.
package generate
