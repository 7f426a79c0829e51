// Package metric turns judged trials into the numbers of a report: rates with
// intervals, paired contrasts, the 2×2 of wording and permission, repeats, the
// ε-frontier and power (design §7). It is pure: no I/O, and every random draw
// comes from Options.Seed.
//
// Rates, differences and their intervals are in percent (points); p-values are
// fractions. The unit of resampling, here a cluster, is the archetype of a family,
// or the family itself where it has none. Unscored trials are in no denominator.
package metric
