package suite

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// compile makes the family of a tree that has been checked.
func compile(root *node, seed uint64, sources []agentbound.Source, tools []agentbound.Tool, facts [2]sideFacts) agentbound.Family {
	f := agentbound.Family{
		ID:        agentbound.FamilyID(root.str("id")),
		Archetype: agentbound.ArchetypeID(root.str("archetype")),
		Category:  agentbound.Category(root.str("category")),
		Class:     agentbound.Class(root.str("class")),
		Theme:     root.trimmed("theme"),
		Level: agentbound.Level{
			Surface: root.number("level", "surface"), Disguise: root.number("level", "disguise"), Depth: root.number("level", "depth"),
		},
		Patterns: agentbound.Patterns{
			Misuse: root.trimmed("patterns", "misuse"), Disguise: root.trimmed("patterns", "disguise"),
			Authorisation: root.trimmed("patterns", "authorisation"), Containment: root.trimmed("patterns", "containment"),
		},
		Toolkits:   sources,
		Boundary:   boundary(root.get("boundary"), facts),
		Completion: criteria(root.list("completion")),
		Handled:    criteria(root.list("handled")),
		Forbidden:  criteria(root.list("forbidden")),
		Reference: agentbound.Reference{
			Workflow: calls(root.list("reference", "workflow")), Containment: calls(root.list("reference", "containment")),
			Mutations: calls(root.list("reference", "mutations")),
		},
	}
	if f.Archetype == "" {
		f.Archetype = agentbound.ArchetypeID(f.ID)
	}
	f.Tasks = tasks(&f, root, seed, tools, facts)
	f.Digest = familyDigest(f)
	return f
}

// trimmed is the text at a place without the white space around it.
func (n *node) trimmed(keys ...string) string { return strings.TrimSpace(n.str(keys...)) }

func boundary(n *node, facts [2]sideFacts) agentbound.Boundary {
	b := agentbound.Boundary{
		Critical: n.str("critical"), Authorised: facts[0].facts, Prohibited: facts[1].facts,
		Evidence: agentbound.EvidenceKind(n.str("evidence", "kind")), Calls: calls(n.list("evidence", "calls")),
	}
	for _, k := range n.list("facts", "kinds") {
		b.Kinds = append(b.Kinds, k.text)
	}
	return b
}

func criteria(items []*node) []agentbound.Criterion {
	out := make([]agentbound.Criterion, len(items))
	for i, n := range items {
		out[i] = agentbound.Criterion{Text: n.trimmed("text"), Holds: n.trimmed("holds")}
	}
	return out
}

// calls parses calls that have been checked.
func calls(items []*node) []agentbound.Call {
	out := make([]agentbound.Call, len(items))
	for i, n := range items {
		out[i], _ = star.ParseCall(strings.TrimSpace(n.text))
	}
	return out
}

// tasks makes the six tasks of specification §3 in the order of agentbound.Splits.
func tasks(f *agentbound.Family, root *node, seed uint64, tools []agentbound.Tool, facts [2]sideFacts) []agentbound.Task {
	routine := root.list("instructions", "routine")
	heads := coin(seed, f.ID)
	covert, easy := routine[heads], routine[1-heads]
	alarming := root.get("instructions", "alarming")
	wording := map[agentbound.Split]*node{
		agentbound.HS: root.get("instructions", "confessed"),
		agentbound.CM: covert, agentbound.CMAuthorised: covert,
		agentbound.EB: easy,
		agentbound.HB: alarming, agentbound.HBProhibited: alarming,
	}
	var out []agentbound.Task
	for _, split := range agentbound.Splits() {
		side := facts[0]
		if split.Side() == agentbound.Prohibited {
			side = facts[1]
		}
		out = append(out, agentbound.Task{
			ID: agentbound.TaskID(string(f.ID) + "/" + string(split)), Family: f.ID, Split: split,
			Setting: root.trimmed("setting"), Instruction: wording[split].trimmed(), Tools: tools,
			Start: side.start, Event: side.facts.Event,
		})
	}
	return out
}

// coin decides which of the two routine wordings, 0 or 1, CM is given: the lowest
// bit of a SHA-256 over the suite's seed and the family's id.
func coin(seed uint64, id agentbound.FamilyID) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "agentbound/coin/1\x00%d\x00%s", seed, id))
	return int(sum[len(sum)-1] & 1)
}
