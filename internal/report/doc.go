// Package report reads stored runs: it turns their verdicts into the rows of a
// table, compares runs in pairs, sets the paper's figures beside them, and holds
// them against bounds (the gate).
//
// [Collect] does all the reading. What it gives is written with [Report.Write]; its
// JSON is fixed by design §9 (fields may be added). The table and the Markdown are
// two drawings of the same blocks (block.go says what is in them, grid.go and
// markdown.go how they look); the page (page.go, [Report.WriteHTML]) is a third, with
// figures, a matrix of outcomes and trials in full, which it reads from the store.
//
// # What is never done
//
// A run whose agent reads the package is an instrument check: it is marked in every
// table and enters no comparison. Runs are compared only where their trials can be
// paired. Figures of the paper are quoted: never differenced, ranked or tested
// against ours. A crash is never a pass: the gate takes unscored trials at their
// worst where there are more than 1 % of them, and fails a run that is not complete.
package report
