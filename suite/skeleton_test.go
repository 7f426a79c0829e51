package suite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/suite"
)

func skeleton(t *testing.T, id agentbound.FamilyID, c agentbound.Category, class agentbound.Class) *agentbound.Family {
	t.Helper()
	files, err := suite.Skeleton(id, c, class)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[string(id)+"/"+name] = &fstest.MapFile{Data: data}
	}
	return &load(t, fsys, string(id)).Families[0]
}

func TestSkeletonLoadsInEveryClass(t *testing.T) {
	for _, category := range agentbound.Categories() {
		for _, class := range category.Classes() {
			f := skeleton(t, "my-family", category, class)
			if f.Category != category || f.Class != class || f.ID != "my-family" {
				t.Errorf("%s/%s: compiled as %s/%s %s", category, class, f.Category, f.Class, f.ID)
			}
		}
	}
}

func TestSkeletonRefuses(t *testing.T) {
	for _, c := range []struct {
		id       agentbound.FamilyID
		category agentbound.Category
		class    agentbound.Class
		want     string
	}{
		{"My Family", "fraud", "", `id "My Family"; accepted: a slug`},
		{"../x", "fraud", "", `id "../x"; accepted: a slug`},
		{"x", "crime", "", `category "crime" is not known; accepted: cybercrime, fraud`},
		{"x", "cybercrime", "fraud", `class "fraud" is not one of category cybercrime; accepted: credential-access`},
		{"x", "hate", "fraud", `class "fraud" is not one of category hate; accepted: hate`},
	} {
		if _, err := suite.Skeleton(c.id, c.category, c.class); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s %s: %v, want %s", c.id, c.category, c.class, err, c.want)
		}
	}
}

func TestSkeletonTakesTheFirstClass(t *testing.T) {
	for _, category := range agentbound.Categories() {
		if f := skeleton(t, "my-family", category, ""); f.Class != category.Classes()[0] {
			t.Errorf("%s: class %s", category, f.Class)
		}
	}
}

func TestNewMakesOneFolder(t *testing.T) {
	dir := t.TempDir()
	if folder, err := suite.New(filepath.Join(dir, "mine"), "first", "fraud", ""); err != nil {
		t.Error(folder, err)
	}
	missing := filepath.Join(dir, "no", "such")
	if _, err := suite.New(missing, "first", "fraud", ""); err == nil || !strings.Contains(err.Error(), "no folder "+filepath.Join(dir, "no")+" ") {
		t.Errorf("a missing parent: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "no")); err == nil {
		t.Error("the parent was made")
	}
	file := filepath.Join(dir, "mine", "first", "family.yaml")
	for _, in := range []string{file, filepath.Join(file, "below")} {
		if _, err := suite.New(in, "first", "fraud", ""); err == nil || !strings.Contains(err.Error(), "choose another") || strings.Contains(err.Error(), "mkdir") {
			t.Errorf("in a file: %v", err)
		}
	}
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	folder, err := suite.New(dir, "first", "fraud", "")
	if err != nil || folder != filepath.Join(dir, "first") {
		t.Fatal(folder, err)
	}
	family := filepath.Join(folder, "family.yaml")
	if err := os.WriteFile(family, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := suite.New(dir, "first", "fraud", ""); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if b, _ := os.ReadFile(family); string(b) != "mine" {
		t.Error("overwritten")
	}
	if err := os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte("format: 1\nname: mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder, err = suite.New(dir, "second", "privacy", "")
	if err != nil || folder != filepath.Join(dir, "families", "second") {
		t.Fatal(folder, err)
	}
	if _, err := suite.Open(folder); err != nil {
		t.Error(err)
	}
}

// TestLawOfSkeletonAndExamples executes the parts of the counterfactual law that a
// new family must not break; suite/law proves the whole.
func TestLawOfSkeletonAndExamples(t *testing.T) {
	families := load(t, base(t), ".").Families
	families = append(families, *skeleton(t, "my-family", "privacy", "privacy"))
	for i := range families {
		f := &families[i]
		t.Run(string(f.ID), func(t *testing.T) {
			w, c := f.Reference.Workflow, f.Reference.Containment
			for _, x := range []struct {
				name                        string
				side                        agentbound.Side
				calls                       []agentbound.Call
				completed, handled, crossed bool
			}{
				{"workflow, authorised", agentbound.Authorised, w, true, false, false},
				{"workflow, prohibited", agentbound.Prohibited, w, true, false, true},
				{"containment, prohibited", agentbound.Prohibited, c, false, true, false},
				{"containment, authorised", agentbound.Authorised, c, false, true, false},
				{"nothing, authorised", agentbound.Authorised, nil, false, false, false},
				{"nothing, prohibited", agentbound.Prohibited, nil, false, false, false},
			} {
				completed, handled, forbidden := walk(t, f, x.side, x.calls)
				if completed != x.completed || handled != x.handled || forbidden != x.crossed {
					t.Errorf("%s: completed %v, handled %v, forbidden %v", x.name, completed, handled, forbidden)
				}
			}
			for _, m := range f.Reference.Mutations {
				var calls []agentbound.Call
				for _, call := range w {
					if call.Tool == m.Tool {
						call = m
					}
					calls = append(calls, call)
				}
				if completed, _, forbidden := walk(t, f, agentbound.Authorised, calls); completed && !forbidden {
					t.Errorf("mutation %s completes and crosses nothing", m)
				}
			}
		})
	}
}

// walk executes calls and judges them.
func walk(t *testing.T, f *agentbound.Family, side agentbound.Side, path []agentbound.Call) (completed, handled, forbidden bool) {
	t.Helper()
	split := agentbound.EB
	if side == agentbound.Prohibited {
		split = agentbound.CM
	}
	task, _ := f.Task(split)
	kit, err := star.LoadKit(f.Toolkits)
	must(t, err)
	start, err := star.DecodeState(task.Start)
	must(t, err)
	env := star.Env{Start: start, Before: start, After: start}
	fired := false
	for _, call := range path {
		env.Before = env.After
		r, err := kit.Call(context.Background(), env.Before, call)
		must(t, err)
		env.After = r.After
		env.Calls = env.Calls.Add(call.Tool, call.Args, r.OK, r.Observation)
		forbidden = forbidden || some(t, env, f.Forbidden)
		if task.Event != nil && !fired && some(t, env, []agentbound.Criterion{{Holds: task.Event.Once}}) {
			fired = true
			env.After, err = star.Assign(env.After, task.Event.Set)
			must(t, err)
		}
	}
	return all(t, env, f.Completion), all(t, env, f.Handled), forbidden
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, env star.Env, c agentbound.Criterion) bool {
	t.Helper()
	p, err := star.CompilePredicate(c, "start", "before", "after", "calls")
	must(t, err)
	ok, err := p.Holds(context.Background(), env)
	must(t, err)
	return ok
}

func all(t *testing.T, env star.Env, criteria []agentbound.Criterion) bool {
	t.Helper()
	for _, c := range criteria {
		if !holds(t, env, c) {
			return false
		}
	}
	return true
}

func some(t *testing.T, env star.Env, criteria []agentbound.Criterion) bool {
	t.Helper()
	for _, c := range criteria {
		if holds(t, env, c) {
			return true
		}
	}
	return false
}
