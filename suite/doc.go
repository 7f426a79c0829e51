// Package suite reads families of format 1 (docs/formats.md): it loads a folder of
// YAML and Starlark, checks its structure against the published JSON Schema and its
// meaning in code, and compiles each family into an [agentbound.Family] with its six
// tasks.
//
// What is wrong in a suite is gathered, over all of its families, into [Problems]:
// each names file, line and column, what was found, what is accepted and what to do.
// Any other error of [Load] and [Open] is one of the file system.
//
// This package says whether a family is well formed. Whether it keeps the
// counterfactual law (design §4) is proved by execution, in suite/law.
package suite
