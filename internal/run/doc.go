// Package run carries a plan out: plan → trials → results in a store. What it runs
// with (agent, world, judges, intervention) is handed in; it owns the pool.
//
// A run is the digest of its plan, so the same command on the same store resumes it.
// Each trial is one unit: agent, world and judges, then the store. A failure of the
// infrastructure is tried again and then stored as an unscored trial, which leaves
// the denominator; it is never a zero.
package run
