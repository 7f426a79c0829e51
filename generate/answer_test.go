package generate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseAnswer(t *testing.T) {
	const yaml, star = "format: 1\nid: a\n", "def f(state):\n    return 1\n"
	whole := Files{"family.yaml": yaml, "loans.star": star}
	fenced := func(above, info, text string) string { return above + "\n```" + info + "\n" + text + "```\n" }
	for name, c := range map[string]struct {
		answer string
		files  Files
		says   string
	}{
		"as asked":            {fenced("FILE: family.yaml", "yaml", yaml) + fenced("FILE: loans.star", "python", star), whole, ""},
		"headings":            {fenced("### `family.yaml`", "yaml", yaml) + "\n" + fenced("**loans.star**:", "starlark", star), whole, ""},
		"blank lines between": {fenced("FILE: family.yaml\n", "yaml", yaml) + fenced("File 2: loans.star\n\n", "", star), whole, ""},
		"behind the fence":    {fenced("", "yaml family.yaml", yaml) + fenced("", "python title=\"loans.star\"", star), whole, ""},
		"in folders":          {fenced("FILE: families/a/family.yaml", "yaml", yaml) + fenced("FILE: ./a/loans.star", "", star), whole, ""},
		"in the first line":   {fenced("The family:", "yaml", "# family.yaml\n"+yaml) + fenced("The tools:", "python", "# FILE: loans.star\n"+star), Files{"family.yaml": yaml, "loans.star": "# FILE: loans.star\n" + star}, ""},
		"by its content":      {fenced("Here it is.", "yaml", yaml) + fenced("FILE: loans.star", "", star), whole, ""},
		"prose and sketches":  {"The rule of family.yaml stands in a record, so that it is met by everyone who reads.\n" + fenced("A sketch:", "text", "a -> b\n") + fenced("FILE: family.yaml", "yaml", yaml) + "Done.\n" + fenced("FILE: loans.star", "", star) + "Ask away about loans.star!\n", whole, ""},
		"tildes, indented":    {"  FILE: family.yaml\n  ~~~~ yaml\n  format: 1\n  id: a\n  ~~~~\n" + fenced("FILE: loans.star", "", star), whole, ""},
		"CR LF":               {strings.ReplaceAll(fenced("FILE: family.yaml", "yaml", yaml)+fenced("FILE: loans.star", "", star), "\n", "\r\n"), whole, ""},
		"a longer fence":      {"FILE: family.yaml\n````yaml\nformat: 1\nid: a\n```\n````\n", Files{"family.yaml": "format: 1\nid: a\n```\n"}, ""},
		"another extension":   {fenced("FILE: family.yml", "yaml", yaml), Files{"family.yaml": yaml}, ""},
		"twice the same":      {fenced("FILE: family.yaml", "yaml", yaml) + fenced("FILE: family.yaml", "yaml", yaml), Files{"family.yaml": yaml}, ""},
		"twice":               {fenced("FILE: family.yaml", "yaml", yaml) + fenced("FILE: family.yaml", "yaml", yaml+"more: 1\n"), nil, "family.yaml stands twice"},
		"not closed":          {"FILE: family.yaml\n```yaml\nformat: 1\n", nil, "the block of family.yaml is not closed"},
		"empty":               {fenced("FILE: family.yaml", "yaml", "\n"), nil, "the block of family.yaml is empty"},
		"another file":        {fenced("FILE: other.yaml", "yaml", yaml), nil, `file "other.yaml" is not one of a package`},
		"no block":            {"I would rather not.", nil, "no file was found"},
		"nothing":             {"", nil, "no file was found"},
		"too large":           {strings.Repeat("x", maxAnswer+1), nil, "larger than 2 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			files, problems := ParseAnswer(c.answer)
			if c.says != "" {
				if len(problems) == 0 || !strings.Contains(problems[0], c.says) {
					t.Errorf("problems %q, want %q", problems, c.says)
				}
				return
			}
			if d := cmp.Diff(c.files, files); d != "" || len(problems) > 0 {
				t.Errorf("%s\nproblems %q", d, problems)
			}
		})
	}
}

// FuzzParseAnswer: whatever comes, files have safe names, and either files or problems
// are told.
func FuzzParseAnswer(f *testing.F) {
	f.Add("FILE: family.yaml\n```yaml\nformat: 1\n```\nFILE: a.star\n~~~\nx\n~~~\n")
	f.Add("### `../../etc/family.yaml`\n````\nformat: 1\n```\n````")
	f.Add("```\n# FILE: x.star\n\n```")
	f.Add("  ```yaml family.yaml\n  a\n")
	f.Fuzz(func(t *testing.T, answer string) {
		files, problems := ParseAnswer(answer)
		if len(files) == 0 && len(problems) == 0 {
			t.Error("neither files nor problems")
		}
		for name, text := range files {
			if name != yamlName && !toolkitRE.MatchString(name) || strings.ContainsAny(name, `/\`) || strings.TrimSpace(text) == "" {
				t.Errorf("file %q: %q", name, text)
			}
		}
	})
}
