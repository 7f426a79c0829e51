package agentbound_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// Kinds of room (docs/architecture.md). What a kind may import of this module is
// checked on the table itself, what a package does import on go list.
const (
	noun        = "noun"        // the root: standard library only, importable by all
	part        = "part"        // one job, shared by others
	port        = "port"        // a small interface
	contract    = "contract"    // <port>test: what every adapter must pass; only tests import it
	adapter     = "adapter"     // named after what it adapts; never imports an adapter
	composition = "composition" // puts rooms together; imported by compositions and wiring only
	wiring      = "wiring"      // cmd; nothing imports it
)

// The rooms, one line a package: its kind, the packages of this module that it may
// import beyond the root, and the libraries it may import (a prefix of import
// paths). The standard library is free, but see pure and stores below. A new
// package needs a line here, a removed one loses it.
var rooms = []room{
	{".", noun, "", ""},
	{"internal/star", part, "", "go.starlark.net github.com/santhosh-tekuri/jsonschema golang.org/x/text"},
	{"suite", part, "internal/star", "github.com/goccy/go-yaml github.com/santhosh-tekuri/jsonschema github.com/klauspost/compress"},
	{"suites", part, "suite", ""},
	{"world", port, "", ""},
	{"world/worldtest", contract, "world internal/familytest", ""},
	{"world/program", adapter, "world internal/star", ""},
	{"world/fault", adapter, "world", ""},
	{"world/emulated", adapter, "world model internal/star", ""},
	{"world/emulated/emulatedtest", contract, "model internal/star", ""},
	{"intervene", port, "", ""},
	{"intervene/intervenetest", contract, "intervene", "github.com/google/go-cmp"},
	{"intervene/placebo", adapter, "intervene", ""},
	{"intervene/aligner", adapter, "intervene model", ""},
	// The limited interpreter executes guard code; similarity finds the nearest examples.
	{"intervene/guardagent", adapter, "intervene model internal/star internal/minhash", ""},
	{"intervene/safetyaligner", adapter, "intervene model", ""},
	{"episode", part, "world intervene", ""},
	{"agent", port, "episode", ""},
	{"model", port, "", ""},
	{"model/transport", part, "model", ""},
	{"model/pace", part, "model", ""},
	{"model/modeltest", contract, "model", "github.com/google/go-cmp"},
	{"model/openaiapi", part, "model model/transport", "github.com/openai/openai-go"},
	{"model/compat", adapter, "model model/transport model/openaiapi", "github.com/openai/openai-go"},
	{"model/completion", adapter, "model model/transport model/openaiapi", "github.com/openai/openai-go"},
	{"model/openai", adapter, "model model/transport model/openaiapi", "github.com/openai/openai-go"},
	{"model/file", adapter, "model", ""},
	{"model/anthropic", adapter, "model model/transport", "github.com/anthropics/anthropic-sdk-go"},
	{"model/gemini", adapter, "model model/transport", "google.golang.org/genai"},
	{"internal/filelock", part, "", ""},
	{"model/replay", adapter, "model internal/filelock", "github.com/klauspost/compress"},
	{"agent/chat", adapter, "agent episode intervene model", ""},
	{"internal/process", part, "", ""},
	{"internal/mcpserve", part, "", "github.com/modelcontextprotocol/go-sdk golang.org/x/net"},
	{"agent/exec", adapter, "agent episode internal/process", ""},
	{"agent/reference", adapter, "agent episode world", ""},
	{"agent/mcpexec", composition, "agent agent/chat episode internal/mcpserve internal/process", ""},
	{"harness", port, "", ""},
	{"harness/codex", adapter, "harness", ""},
	{"harness/openclaw", adapter, "harness", ""},
	{"harness/dsh", adapter, "harness", ""},
	{"harness/claudecode", adapter, "harness", ""},
	{"harness/geminicli", adapter, "harness", ""},
	{"harness/qwencode", adapter, "harness", ""},
	{"harness/opencode", adapter, "harness", ""},
	{"harness/install", part, "harness internal/filelock", ""},
	{"harness/subject", composition, "agent agent/chat episode harness", ""},
	{"judge", port, "", ""},
	{"judge/judgetest", contract, "judge internal/familytest", "github.com/google/go-cmp"},
	{"judge/program", adapter, "judge internal/star", ""},
	{"judge/rubric", adapter, "judge model internal/star", ""},
	{"judge/rubric/rubrictest", contract, "judge model", ""},
	{"metric", part, "", "gonum.org/v1/gonum"},
	{"internal/store", port, "", ""},
	{"internal/store/storetest", contract, "internal/store", "github.com/google/go-cmp"},
	{"internal/store/sqlite", adapter, "internal/store internal/filelock", "modernc.org/sqlite github.com/pressly/goose github.com/klauspost/compress"},
	{"internal/run", composition, "world intervene episode agent judge model suite internal/store", "golang.org/x/sync"},
	{"internal/fork", composition, "world world/fault intervene episode agent judge model metric suite internal/run internal/store", "golang.org/x/sync"},
	{"internal/play", composition, "world intervene episode judge suite internal/run internal/store", ""},
	{"internal/play/overmcp", composition, "internal/play internal/mcpserve", ""},
	{"internal/play/prompt", composition, "internal/play", "github.com/mattn/go-isatty github.com/mattn/go-runewidth github.com/peterh/liner golang.org/x/term"},
	{"internal/figure", part, "", "gonum.org/v1/plot codeberg.org/go-fonts/liberation golang.org/x/image"},
	{"internal/report", composition, "metric suite model model/price internal/store internal/figure", "github.com/mattn/go-runewidth"},
	{"internal/wire", part, "model model/transport", "github.com/klauspost/compress"},
	{"internal/gateway", composition, "intervene model internal/wire internal/filelock", "github.com/prometheus/client_golang github.com/sony/gobreaker"},
	{"internal/familytest", part, "internal/star suite suites", ""},
	{"suite/law", composition, "internal/run world/program agent/reference judge judge/program internal/star", ""},
	{"internal/minhash", part, "", ""},
	{"internal/confine", part, "internal/filelock", "golang.org/x/sys"},
	{"suite/validate", composition, "suite suite/law agent/reference internal/minhash", ""},
	{"suite/seed", part, "", "golang.org/x/text"},
	{"generate", composition, "model suite suites suite/pattern suite/seed suite/validate internal/filelock", "golang.org/x/sync"},
	{"generate/generatetest", contract, "model", ""},
	{"internal/datafile", part, "", "github.com/goccy/go-yaml"},
	{"model/price", part, "model internal/datafile", ""},
	{"model/budget", part, "model model/price", ""},
	{"agent/preset", part, "model internal/datafile", ""},
	{"suite/pattern", part, "suite", "github.com/goccy/go-yaml"},
	{"suite/reading", composition, "internal/star", ""},
	{"internal/classify", part, "", "gonum.org/v1/gonum"},
	{"suite/audit", composition, "suite internal/run internal/star internal/classify internal/minhash metric agent/reference", "github.com/mattn/go-runewidth"},
	{"suite/screen", composition, "suite", "github.com/zricethezav/gitleaks golang.org/x/net golang.org/x/text github.com/goccy/go-yaml"},
	{"cmd/agentbound", wiring, "suite suites suite/law suite/audit suite/screen suite/reading suite/pattern suite/seed suite/validate generate model model/compat model/completion model/openai model/openaiapi model/anthropic model/gemini model/replay model/file model/pace model/price model/budget agent agent/preset agent/chat agent/exec agent/mcpexec agent/reference episode harness harness/codex harness/openclaw harness/dsh harness/qwencode harness/opencode harness/claudecode harness/geminicli harness/install harness/subject world world/program world/emulated world/fault intervene intervene/placebo intervene/aligner intervene/safetyaligner intervene/guardagent judge judge/program judge/rubric internal/star internal/store internal/store/sqlite internal/run internal/fork internal/report internal/play internal/play/overmcp internal/play/prompt internal/confine internal/wire internal/gateway internal/mcpserve",
		"github.com/spf13/cobra github.com/vbauerster/mpb github.com/mattn/go-isatty github.com/goccy/go-yaml"},
}

// Pure rooms do no I/O.
var (
	pure        = []string{".", "metric", "judge/program", "internal/minhash", "internal/classify"}
	inputOutput = []string{"database", "io/ioutil", "log", "net", "os", "plugin", "syscall"}
)

// SQL stays under this folder.
const stores = "internal/store"

var sql = []string{"database/sql", "modernc.org/sqlite", "github.com/jackc/pgx", "github.com/pressly/goose"}

const module = "github.com/agentbound/agentbound"

type room struct{ path, kind, rooms, libraries string }

// TestRooms checks the table: what each kind of room may be allowed at all.
func TestRooms(t *testing.T) {
	mayImport := map[string][]string{
		noun:        {},
		part:        {part, port},
		port:        {part, port},
		contract:    {part, port},
		adapter:     {part, port},
		composition: {part, port, adapter, composition},
		wiring:      {part, port, adapter, composition},
	}
	kinds := map[string]string{}
	for _, r := range rooms {
		if kinds[r.path] != "" {
			t.Errorf("%s has two lines", r.path)
		}
		if mayImport[r.kind] == nil {
			t.Errorf("%s: kind %q is not known", r.path, r.kind)
		}
		kinds[r.path] = r.kind
	}
	for _, p := range pure {
		if kinds[p] == "" {
			t.Errorf("pure names %s, which has no line", p)
		}
	}
	for _, r := range rooms {
		for _, to := range strings.Fields(r.rooms) {
			switch kind := kinds[to]; {
			case kind == "":
				t.Errorf("%s may import %s, which has no line", r.path, to)
			case !slices.Contains(mayImport[r.kind], kind):
				t.Errorf("%s is a %s and may not import %s: a %s imports %s only", r.path, r.kind, to, r.kind,
					strings.Join(append([]string{"the root"}, mayImport[r.kind]...), ", "))
			}
		}
	}
}

// TestImports checks that each package imports what its line allows, and that
// packages and lines correspond. Tests may import what they like.
func TestImports(t *testing.T) {
	packages := goList(t)
	for _, r := range rooms {
		imports, ok := packages[r.path]
		if !ok {
			t.Errorf("%s has a line but there is no such package: remove the line", r.path)
		}
		for _, imp := range imports {
			if why := r.refuses(imp); why != "" {
				t.Errorf("%s imports %s: %s", r.path, imp, why)
			}
		}
	}
	for p := range packages {
		if !slices.ContainsFunc(rooms, func(r room) bool { return r.path == p }) {
			t.Errorf("%s has no line in the table of rooms (imports_test.go): say what it is and what it may import", p)
		}
	}
}

// refuses says why a package may not import imp; empty where it may.
func (r room) refuses(imp string) string {
	under := func(prefix string) bool { return imp == prefix || strings.HasPrefix(imp, prefix+"/") }
	standard := !strings.Contains(strings.Split(imp, "/")[0], ".")
	switch {
	case imp == "C":
		return "we build without cgo"
	case slices.Contains(pure, r.path) && slices.ContainsFunc(inputOutput, under):
		return "a pure room does no I/O"
	case slices.ContainsFunc(sql, under) && !strings.HasPrefix(r.path, stores+"/"):
		return "SQL stays in the stores"
	case standard:
		return ""
	case imp == module:
		return ""
	case under(module):
		if !slices.Contains(strings.Fields(r.rooms), strings.TrimPrefix(imp, module+"/")) {
			return "its line does not allow that room"
		}
	case !slices.ContainsFunc(strings.Fields(r.libraries), under):
		return "its line does not allow that library"
	}
	return ""
}

// goList gives the imports of every package of the module, by path from the root.
func goList(t *testing.T) map[string][]string {
	t.Helper()
	readTree(t)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages[path.Join(".", strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/"))] = p.Imports
	}
}
