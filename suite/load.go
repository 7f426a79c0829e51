package suite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// Names of the files and folders of a suite.
const (
	familyFile   = "family.yaml"
	suiteFile    = "suite.yaml"
	familiesDir  = "families"
	toolkitsDir  = "toolkits"
	maxSuiteSize = 64 << 10
)

// Load loads a suite, or the one family, at root in fsys: slash-separated, "." for
// the whole.
//
// A suite is a folder with families in families/<id>/ or <id>/ (each with its
// family.yaml), shared toolkits in toolkits/ and, optionally, a suite.yaml that
// names it. The toolkits and the seed of one family alone are those of the suite it
// lies in, up to two levels above.
func Load(fsys fs.FS, root string) (*Suite, error) {
	l := loader{fsys: fsys, root: path.Clean(root), show: printable}
	if l.root != "." {
		l.name = path.Base(l.root)
	}
	return l.load()
}

// loader reads one suite.
type loader struct {
	fsys     fs.FS
	root     string
	name     string                   // of the root's folder; empty where it has none
	show     func(name string) string // how messages name a file
	problems Problems
	suite    Suite
	home     string                       // the suite's folder; empty for a family without one
	texts    map[string]agentbound.Source // toolkits read so far, by path
	given    map[string]string            // texts of a packed family's toolkits; nil for those of files
	compiled map[string]schema            // argument schemas, by their text
	more     int                          // families of each archetype beyond those that it lists
	further  []Further                    // those families
}

func (l *loader) load() (*Suite, error) {
	info, err := fs.Stat(l.fsys, l.root)
	if err != nil {
		return nil, unreachable(l.show(l.root), err)
	}
	if !info.IsDir() {
		return nil, noFolder(l.show(l.root))
	}
	l.texts, l.compiled = map[string]agentbound.Source{}, map[string]schema{}
	folders, err := l.folders()
	if err != nil {
		return nil, err
	}
	if err := l.header(); err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if err := l.folder(folder); err != nil {
			return nil, err
		}
	}
	l.distinct()
	if len(l.problems) > 0 {
		return nil, l.problems.sorted()
	}
	slices.SortFunc(l.suite.Families, func(a, b agentbound.Family) int { return cmp.Compare(a.ID, b.ID) })
	l.suite.Digest = l.suite.suiteDigest()
	return &l.suite, nil
}

// folders finds the families and the suite's home.
func (l *loader) folders() ([]string, error) {
	if l.exists(path.Join(l.root, familyFile)) || l.exists(path.Join(l.root, archetypeFile)) {
		l.home = l.homeAbove()
		return []string{l.root}, nil
	}
	l.home = l.root
	var out []string
	ids := map[string]string{}
	for _, parent := range []string{l.root, path.Join(l.root, familiesDir), path.Join(l.root, archetypesDir)} {
		if parent != l.root && !l.exists(parent) {
			continue
		}
		entries, err := fs.ReadDir(l.fsys, parent)
		if err != nil {
			return nil, fmt.Errorf("suite %s: %w", l.show(parent), l.explain(parent, err))
		}
		for _, e := range entries {
			folder := path.Join(parent, e.Name())
			if !l.holds(parent, folder, e) {
				continue
			}
			if other, twice := ids[e.Name()]; twice {
				l.problem(folder, "the suite has two folders %s, the other is %s; rename one", printable(e.Name()), l.show(other))
			}
			ids[e.Name()] = folder
			out = append(out, folder)
		}
	}
	if len(out) == 0 && len(l.problems) == 0 {
		l.problem(l.root, "no family here; accepted: a folder with a family.yaml or archetype.yaml, or one with such folders in it, in families/ or in archetypes/ (agentbound suite new makes a family)")
	}
	return out, nil
}

// holds reports whether an entry is the folder of a family or an archetype. One that
// cannot be looked into is a problem where a family may bear its name, so that none is
// left out without a word.
func (l *loader) holds(parent, folder string, e fs.DirEntry) bool {
	isDir := e.IsDir()
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := fs.Stat(l.fsys, folder)
		if err != nil {
			l.closed(folder, e, l.explain(folder, err))
			return false
		}
		isDir = info.IsDir()
	}
	if !isDir {
		return false
	}
	there, err := l.there(path.Join(folder, familyFile))
	if !there && err == nil {
		there, err = l.there(path.Join(folder, archetypeFile))
	}
	switch {
	case err != nil:
		l.closed(folder, e, err)
	case !there:
		l.missing(parent, folder, e)
	}
	return there
}

// closed reports a folder that cannot be looked into.
func (l *loader) closed(folder string, e fs.DirEntry, why error) {
	if slug.MatchString(e.Name()) {
		l.problem(folder, "%v", why)
	}
}

// missing reports a folder of families/ that holds no family.
func (l *loader) missing(parent, folder string, e fs.DirEntry) {
	if parent == l.root || strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") {
		return
	}
	file := familyFile
	if path.Base(parent) == archetypesDir {
		file = archetypeFile
	}
	l.problem(folder, "the folder has no %s; add it, or move the folder out of %s/", file, path.Base(parent))
}

// homeAbove is the folder of the suite that a single family lies in.
func (l *loader) homeAbove() string {
	if l.root == "." {
		return ""
	}
	for dir, i := path.Dir(l.root), 0; i < 2; dir, i = path.Dir(dir), i+1 {
		if l.exists(path.Join(dir, suiteFile)) || l.exists(path.Join(dir, toolkitsDir)) {
			return dir
		}
		if dir == "." {
			break
		}
	}
	return ""
}

func (l *loader) problem(name, format string, args ...any) {
	l.problems = append(l.problems, Problem{File: l.show(name), Message: fmt.Sprintf(format, args...)})
}

// header reads suite.yaml, where there is one, and names the suite.
func (l *loader) header() error {
	l.suite.Name = cmp.Or(printable(l.name), "suite")
	if l.home == "" || !l.exists(path.Join(l.home, suiteFile)) {
		return nil
	}
	root, r, err := l.yaml(path.Join(l.home, suiteFile), maxSuiteSize)
	if err != nil {
		return err
	}
	if root != nil && supported(r, root) {
		suiteStructure().check(r, root)
		whole(r, root, "seed")
	}
	l.problems = append(l.problems, r.problems...)
	if len(r.problems) > 0 {
		return nil
	}
	if seed := root.get("seed"); seed != nil {
		l.suite.Seed, _ = strconv.ParseUint(seed.text, 10, 64)
	}
	if l.home == l.root {
		l.suite.Name, l.suite.Description = root.trimmed("name"), root.trimmed("description")
		if v := root.get("version"); v != nil {
			l.suite.Version = v.text
		}
	}
	return nil
}

// supported checks the format first: nothing can be said of another one.
func supported(r *report, root *node) bool {
	format := root.get("format")
	if format.is(text) && strings.TrimSpace(format.text) == strconv.Itoa(Format) {
		r.at(format.pos, "format is text; remove the quotes: format: %d", Format)
		format.kind, format.text = integer, strconv.Itoa(Format) // so that the rest is checked
	}
	if !root.is(object) || format == nil || format.is(integer) && format.number() == Format {
		return true
	}
	r.at(format.pos, "format %s is not supported; accepted: %d", format.found(), Format)
	return false
}

// folder loads the family or the archetype of a folder.
func (l *loader) folder(folder string) error {
	one, many := l.exists(path.Join(folder, familyFile)), l.exists(path.Join(folder, archetypeFile))
	if one && many {
		l.problem(folder, "the folder has both a %s and an %s; move one of the two", familyFile, archetypeFile)
		return nil
	}
	if many {
		return l.archetype(folder)
	}
	return l.family(folder)
}

// distinct refuses families of one name: an archetype numbers its own.
func (l *loader) distinct() {
	seen := map[agentbound.FamilyID]bool{}
	for _, f := range l.suite.Families {
		if seen[f.ID] {
			l.problem(l.root, "the suite has two families %s; an archetype numbers its own, so that no other may end like one: rename it", f.ID)
		}
		seen[f.ID] = true
	}
}

// family loads, checks and compiles one family.
func (l *loader) family(folder string) error {
	root, r, err := l.yaml(path.Join(folder, familyFile), MaxFamilyBytes)
	if err != nil {
		return err
	}
	defer func() { l.problems = append(l.problems, r.problems...) }()
	if root == nil || !supported(r, root) {
		return nil
	}
	return l.build(folder, l.folderName(folder), root, r)
}

// build checks and compiles the tree of a family. Its id must be name, where there is one.
func (l *loader) build(folder, name string, root *node, r *report) error {
	legible := len(r.problems) == 0
	familyStructure().check(r, root)
	c := &checker{report: r, folder: name, root: root, parsed: map[string][]agentbound.Call{}}
	sources, tools, err := l.toolkits(c, folder)
	if err != nil {
		return err
	}
	c.check()
	before := len(r.problems)
	facts := c.facts()
	if legible && len(r.problems) == before { // else the state is not the one that is meant
		c.evaluate(facts)
	}
	if len(r.problems) == 0 {
		l.suite.Families = append(l.suite.Families, compile(root, l.suite.Seed, sources, tools, facts))
	}
	return nil
}

// folderName is what a family's id must be. Where the folder has no name, the id is
// taken at its word.
func (l *loader) folderName(folder string) string {
	if folder == l.root {
		return l.name
	}
	return path.Base(folder)
}

// yaml reads and parses a file. A nil node means that the report says why.
func (l *loader) yaml(name string, limit int64) (*node, *report, error) {
	src, err := l.read(name, limit)
	r := newReport(l.show(name), src)
	if fault := (*fileFault)(nil); errors.As(err, &fault) {
		r.whole("%v", fault)
		return nil, r, nil
	}
	if err != nil {
		return nil, r, err
	}
	return parseYAML(r, src), r, nil
}

// toolkits reads and loads the toolkits of a family. It gives no tools where one of
// them is at fault.
func (l *loader) toolkits(c *checker, folder string) (sources []agentbound.Source, tools []agentbound.Tool, err error) {
	good := c.root.get("toolkits").is(list)
	at := map[string]string{}
	for _, n := range c.root.list("toolkits") {
		if !n.is(text) || !toolkitName.MatchString(n.text) {
			good = false
			continue
		}
		source, file, err := l.toolkit(c, n, folder)
		if err != nil {
			return nil, nil, err
		}
		if file == "" {
			good = false
			continue
		}
		if _, twice := at[n.text]; !twice {
			sources = append(sources, source)
		}
		at[n.text] = file
	}
	if !good {
		return nil, nil, nil
	}
	kit, err := star.LoadKit(sources)
	if err != nil {
		l.kitProblems(c, sources, at, err)
		return nil, nil, nil
	}
	tools = kit.Tools()
	if len(tools) == 0 {
		c.at(c.root.get("toolkits").pos, "the toolkits declare no tool; declare each with tool(function, description, …)")
		return nil, nil, nil
	}
	c.kit, c.tools = kit, &toolbox{tools, l.compiled}
	return sources, tools, nil
}
