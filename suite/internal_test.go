package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/token"
	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
)

// TestCoinIsFair counts heads over many ids; the bound is five standard deviations.
func TestCoinIsFair(t *testing.T) {
	const n = 10_000
	for seed := range uint64(3) {
		heads := 0
		for i := range n {
			heads += coin(seed, agentbound.FamilyID(fmt.Sprintf("family-%d", i)))
		}
		if heads < n/2-250 || heads > n/2+250 {
			t.Errorf("seed %d: %d heads of %d", seed, heads, n)
		}
	}
}

// TestCoinIsPinned: the coin decides what subjects are given, so it must not change.
func TestCoinIsPinned(t *testing.T) {
	var got []int
	for _, id := range []agentbound.FamilyID{"transfer-under-agreement", "claim-in-instalments", "notice-about-a-member", "a", "b", "c", "d", "e"} {
		got = append(got, coin(1, id))
	}
	if diff := cmp.Diff([]int{1, 1, 1, 1, 0, 0, 1, 0}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlainScalars(t *testing.T) {
	for s, want := range map[string]kind{
		"": null, "~": null, "null": null, "true": boolean, "False": boolean,
		"0": integer, "-12": integer, "4200": integer, "123456789012345678901234567890": integer,
		"0.5": float, "-4200.0": float, "1.5e-3": float,
		"2026-03-14": text, "12:30": text, "2026-03-14T10:00:00Z": text, "v1.2.3": text, "1.2.3": text, "48,210": text, "A-9": text, "-": text, "1 a": text, "e3": text, "y": text, "0x": text,
	} {
		if k, _, why := plainScalar(s); k != want || why != "" {
			t.Errorf("%q is %v (%s), want %v", s, k, why, want)
		}
	}
	for _, s := range []string{"012", "00", "-0", "-012", "0_1", "0x1F", "0o7", "0b1", "1_000", "+5", ".5", "5.", "1e3", "1E3", "+1.5", "1_0.5", "01.5", ".inf", "-.INF", ".nan", "yes", "No", "ON", "off", "1.0e400"} {
		if _, _, why := plainScalar(s); why == "" {
			t.Errorf("%q is not refused", s)
		}
	}
}

// TestPlacesOfNodes finds every plain and quoted scalar of the examples where the
// tree says it stands.
func TestPlacesOfNodes(t *testing.T) {
	files, err := filepath.Glob("testdata/base/*/family.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := newReport(file, src)
		root := parseYAML(r, src)
		if root == nil || len(r.problems) > 0 {
			t.Fatal(r.problems)
		}
		seen := 0
		eachNode(root, func(n *node) {
			if n.kind == object || n.kind == list {
				return
			}
			seen++
			row := []rune(r.lines[n.pos.line-1])
			rest := string(row[n.pos.col-1:])
			switch n.style {
			case token.SingleQuoteType, token.DoubleQuoteType:
				rest = strings.TrimLeft(rest, `'"`)
			case token.FoldedType, token.LiteralType:
				if !strings.HasPrefix(rest, ">") && !strings.HasPrefix(rest, "|") {
					t.Errorf("%s:%d:%d: no block here: %q", file, n.pos.line, n.pos.col, rest)
				}
				rest = strings.TrimLeft(r.lines[n.pos.line], " ")
			}
			if word, _, _ := strings.Cut(n.text, " "); !strings.HasPrefix(rest, word) {
				t.Errorf("%s:%d:%d: %q, want %q", file, n.pos.line, n.pos.col, rest, word)
			}
		})
		if seen < 80 {
			t.Errorf("%s: %d scalars", file, seen)
		}
	}
}

func eachNode(n *node, f func(*node)) {
	f(n)
	for _, item := range n.items {
		eachNode(item, f)
	}
	for _, e := range n.entries {
		f(e.key)
		eachNode(e.value, f)
	}
}

// TestLocate finds each visible character of a text in the file, in every style.
func TestLocate(t *testing.T) {
	for _, src := range []string{
		"k: one two", "k: 'it''s two'", `k: "a\"b \\ c\n d\u00e9e"`, "k: >-\n  one\n  two\n\n  three", "k: |\n  one\n    two", "k: one\n  two",
		"{k: one, l: 2}", "k: 'one\n  two'",
	} {
		r := newReport("x", []byte(src))
		n := parseYAML(r, []byte(src)).get("k")
		for i, c := range []rune(n.text) {
			if strings.ContainsRune(" \n", c) {
				continue
			}
			at := locate(r.lines, n, i)
			got := []rune(r.lines[at.line-1])[at.col-1]
			if got != c && got != '\\' {
				t.Errorf("%q: character %d (%c) is placed at %d:%d (%c)", src, i, c, at.line, at.col, got)
			}
		}
	}
}

// TestSchemaKnowsTheNouns keeps the published schema in step with the root package.
func TestSchemaKnowsTheNouns(t *testing.T) {
	var s struct {
		ID         string `json:"$id"`
		Properties struct {
			Category, Class struct{ Enum []string }
			Boundary        struct {
				Properties struct {
					Evidence struct {
						Properties struct{ Kind struct{ Enum []string } }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	var categories, classes, evidence []string
	for _, c := range agentbound.Categories() {
		categories = append(categories, string(c))
		for _, class := range c.Classes() {
			classes = append(classes, string(class))
		}
	}
	for _, k := range agentbound.EvidenceKinds() {
		evidence = append(evidence, string(k))
	}
	if diff := cmp.Diff([][]string{categories, classes, evidence}, [][]string{
		s.Properties.Category.Enum, s.Properties.Class.Enum, s.Properties.Boundary.Properties.Evidence.Properties.Kind.Enum,
	}); diff != "" {
		t.Error(diff)
	}
	if s.ID != "https://agentbound.example/schema/family-1.schema.json" {
		t.Error(s.ID)
	}
	for _, pattern := range []string{slug.String(), toolkitName.String()} {
		quoted, _ := json.Marshal(pattern)
		if !bytes.Contains(Schema(), quoted) {
			t.Errorf("the schema does not have the pattern %s", pattern)
		}
	}
}

// TestSchemaIsDescribed: editors show the descriptions.
func TestSchemaIsDescribed(t *testing.T) {
	for name, text := range map[string][]byte{"family": Schema(), "suite": SuiteSchema()} {
		var doc map[string]any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(name, err)
		}
		undescribed(t, name, doc)
	}
}

func undescribed(t *testing.T, at string, schema map[string]any) {
	t.Helper()
	known, _ := schema["properties"].(map[string]any)
	for key, v := range known {
		property, _ := v.(map[string]any)
		if property["description"] == nil {
			t.Errorf("%s.%s has no description", at, key)
		}
		undescribed(t, at+"."+key, property)
	}
}

func TestSnippetOfALongLine(t *testing.T) {
	line := strings.Repeat("x", 300) + "HERE" + strings.Repeat("y", 300)
	rows := strings.Split(Problem{File: "f", Line: 3, Column: 301, Message: "m", Source: line}.Error(), "\n")
	if at := slices.Index([]rune(rows[2]), '^'); string([]rune(rows[1])[at:at+4]) != "HERE" {
		t.Errorf("caret astray:\n%s", strings.Join(rows, "\n"))
	}
}
