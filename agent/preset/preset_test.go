package preset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/agent/preset"
)

// TestTable2: the embedded presets are the systems of the paper's Table 2, by its names
// and in its order.
func TestTable2(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "internal", "report", "paper-figures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var paper struct {
		Table2 struct{ Rows [][]any } `json:"table2"`
	}
	if err := json.Unmarshal(b, &paper); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, row := range paper.Table2.Rows {
		kind := "model"
		if row[1] == "harness" {
			kind = "harness"
		}
		want = append(want, row[0].(string)+" "+kind)
	}
	open := 0
	for _, p := range preset.Default() {
		got = append(got, p.Name+" "+string(p.Kind))
		if p.Address() == "" || p.Kind == preset.Model && (p.Reasoning == "" || (p.Key == "") == (p.Serve == "")) {
			t.Errorf("%s lacks what it needs: %+v", p.Name, p)
		}
		if p.Serve != "" {
			open++
			_, port, _ := strings.Cut(strings.TrimPrefix(p.Address(), "http://"), ":")
			port = strings.TrimSuffix(port, "/v1")
			if !strings.Contains(p.Serve, "--port "+port+" ") || !strings.Contains(p.Serve, p.ModelID()) || !strings.Contains(p.Serve, "--enable-auto-tool-choice --tool-") {
				t.Errorf("%s is not served as it is asked: %s", p.Name, p.Serve)
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" || open != 6 {
		t.Errorf("%d open models: %s", open, d)
	}
}

func TestParts(t *testing.T) {
	for spec, want := range map[string][4]string{
		"openai:gpt-5.5": {"openai", "gpt-5.5", "", "responses"},
		"vllm:Qwen/Qwen3.8-27B@http://127.0.0.1:8002/v1": {"vllm", "Qwen/Qwen3.8-27B", "http://127.0.0.1:8002/v1", "chat-completions"},
		"anthropic:claude-opus-4-8":                      {"anthropic", "claude-opus-4-8", "", "messages"},
		"elsewhere:m":                                    {"elsewhere", "m", "", "elsewhere"},
	} {
		p := preset.Preset{Spec: spec}
		if got := [4]string{p.Scheme(), p.ModelID(), p.Address(), p.Protocol()}; got != want {
			t.Errorf("%s: %q", spec, got)
		}
	}
}

func TestFind(t *testing.T) {
	all := preset.Default()
	for name, want := range map[string]string{
		"Kimi K3": "Kimi K3", "kimi k3": "Kimi K3", "kimi-k3": "Kimi K3", " KIMI_K3 ": "Kimi K3", "qwen3.8-27b": "Qwen3.8-27B", "codex (gpt-5.5)": "Codex (GPT-5.5)",
	} {
		if p, err := all.Find(name); err != nil || p.Name != want {
			t.Errorf("%q: %q, %v", name, p.Name, err)
		}
	}
	for name, want := range map[string]string{
		"Kimi K4": `did you mean "Kimi K3"?`, "gpt5": `"GPT-5.5"`, "claude opus": `"Claude Opus 4.8"`, "deepseek v4": `"DeepSeek V4 Flash" or "DeepSeek V4 Pro" or`, "granit 3.3 8b instruct": `"Granite-3.3-8B-Instruct"`,
		"llama": "no preset is named \"llama\"; see: agentbound agents", "": "no preset", "-": "no preset",
	} {
		if p, err := all.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, error %v, want %s", name, p.Name, err, want)
		}
	}
}

func read(t *testing.T, text string) (preset.Catalogue, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "presets.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return preset.Read(path)
}

func TestRead(t *testing.T) {
	all, err := read(t, `version: 1
presets:
  - {name: My Model, kind: model, spec: "compat:m@http://127.0.0.1:1/v1", temperature: 0.5, max_tokens: 100, form: react, effort: high}
  - {name: kimi k3, kind: model, spec: "openrouter:moonshotai/kimi-k3"}
`)
	if err != nil {
		t.Fatal(err)
	}
	if mine := all[len(all)-1]; len(all) != 18 || mine.Name != "My Model" || mine.Temperature != "0.5" || mine.MaxTokens != 100 {
		t.Errorf("%d presets, the last %+v", len(all), mine)
	}
	if p, err := all.Find("Kimi K3"); err != nil || p.Spec != "openrouter:moonshotai/kimi-k3" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := preset.Default().Find("Kimi K3"); err != nil || p.Spec != "moonshot:kimi-k3" {
		t.Errorf("the embedded ones were changed: %+v, %v", p, err)
	}
}

func TestRefuses(t *testing.T) {
	one := func(fields string) string {
		return "version: 1\npresets:\n  - name: A\n    kind: model\n    " + fields + "\n"
	}
	const good = "spec: compat:m@http://127.0.0.1:1/v1"
	for text, want := range map[string]string{
		"version: 3\n": "presets.yaml:1: version is 3; accepted: 1",
		"version: 1\npresets:\n  - name: A\n    kind: robot\n    spec: a:b\n": `presets.yaml:4: presets[0]: kind "robot" is not known; accepted: model, harness`,
		one("spec: foo:bar"):  `presets.yaml:5: presets[0]: spec: the scheme "foo" is not known; accepted: anthropic, claude-code, codex, `,
		one("spec: vllm:bar"): "presets.yaml:5: presets[0]: spec: vllm has no address of its own; want vllm:MODEL@BASE_URL, as in vllm:my-model@http://",
		one("spec: gpt"):      "presets.yaml:5: presets[0]: spec: want SCHEME:MODEL",
		one("spec: compat:m@http://u:hunter2@127.0.0.1/v1"):                           "no user name",
		one(good + "\n    key: sk-hunter2"):                                           "presets.yaml:6: presets[0]: key: want the name",
		one(good + "\n    form: xml"):                                                 `form "xml" is not known`,
		one(good + "\n    temperature: hot"):                                          `temperature "hot": want a number`,
		one(good + "\n    max_tokens: -1"):                                            "cannot be negative",
		one(good + "\n    max_tokens: many"):                                          "presets.yaml:6: ",
		one(good + "\n    endpoint: ftp://x"):                                         "http://",
		one(good + "\n    effort: very high"):                                         "effort",
		one(good + "\n    colour: red"):                                               `presets.yaml:6: unknown field "colour"`,
		"version: 1\npresets:\n  - name: 'a: b'\n    kind: model\n    " + good + "\n": "no colon",
		one(good) + "  - name: a\n    kind: model\n    " + good + "\n":                `presets.yaml:6: presets[1]: "a" reads like "A"`,
	} {
		_, err := read(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// FuzzRead: a file is presets or an error that names it.
func FuzzRead(f *testing.F) {
	f.Add("version: 1\npresets:\n  - {name: A, kind: model, spec: 'compat:m@http://127.0.0.1:1/v1'}\n")
	f.Add("version: 1\npresets: [{name: ':', kind: harness}]\n")
	path := filepath.Join(f.TempDir(), "presets.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := preset.Read(path)
		if (all == nil) != (err != nil) || err != nil && !strings.Contains(err.Error(), "presets.yaml") {
			t.Errorf("%v, %v", all, err)
		}
		for _, p := range all {
			if got, err := all.Find(p.Name); err != nil || got.Name != p.Name {
				t.Errorf("%q is not found: %q, %v", p.Name, got.Name, err)
			}
		}
	})
}
