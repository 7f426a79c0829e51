// Package agentbound holds the nouns of the AGENT BOUNDARY method: families of four
// counterfactual siblings, the tasks and trials made from them, trajectories,
// verdicts and plans. It does no I/O and imports the standard library only;
// predicates and tools are source text here (internal/star runs them).
//
// The method is specified in docs/method.md, the stored formats in docs/formats.md.
package agentbound
