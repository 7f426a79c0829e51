package guardagent

import (
	"cmp"
	"embed"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/minhash"
)

// The memory is fixed: cases of toy places that are in no suite, with plan and code, all
// written by hand. Nothing of a trial ever enters it, so that no right answer can.
//
//go:embed memory
var memory embed.FS

// example is one entry of the memory.
type example struct {
	name       string
	shown      agentbound.Value // the case
	plan, code string
	allow      bool // what its code decides
	words      minhash.Set
}

// remembered reads the memory once, in the order of its names.
var remembered = sync.OnceValue(func() []example {
	files, err := memory.ReadDir("memory")
	if err != nil { // it is embedded
		panic(err)
	}
	var all []example
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		var kept struct {
			Case  guarded `json:"case"`
			Allow bool    `json:"allow"`
		}
		read := func(ext string) string { return embedded(memory, path.Join("memory", name+ext)) }
		if err := json.Unmarshal([]byte(read(".json")), &kept); err != nil {
			panic(name + ": " + err.Error())
		}
		e := example{name: name, plan: read(".md"), code: read(".star"), allow: kept.Allow, words: words(kept.Case)}
		if e.shown, err = agentbound.EncodeJSON(kept.Case); err != nil {
			panic(name + ": " + err.Error())
		}
		all = append(all, e)
	}
	return all
})

// words are those that tell what a case is about: the request, the Thought and the call.
func words(c guarded) minhash.Set {
	text := strings.NewReplacer("_", " ").Replace(strings.Join([]string{c.Instruction, c.Thought, c.Call.Tool, c.Call.Args.String()}, " "))
	return minhash.Shingles(minhash.Tokens(text), 1)
}

// nearest are the examples that share most words with a case, the nearest first.
func nearest(c guarded) []example {
	about, all := words(c), slices.Clone(remembered())
	slices.SortStableFunc(all, func(a, b example) int {
		return cmp.Compare(minhash.Jaccard(about, b.words), minhash.Jaccard(about, a.words))
	})
	return all[:min(examples, len(all))]
}

func memoryDigest() string {
	var texts []string
	for _, e := range remembered() {
		texts = append(texts, e.name, e.shown.String(), e.plan, e.code)
	}
	return string(agentbound.DigestJSON(texts))[:12]
}
