package suite

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/agentbound/agentbound"
)

var (
	//go:embed skeleton/family.yaml.tmpl
	skeletonFamily string
	//go:embed skeleton/toolkit.star
	skeletonToolkit []byte

	//go:embed skeleton/archetype.yaml.tmpl
	skeletonArchetype string
	//go:embed skeleton/values.star
	skeletonValues []byte

	skeletonTemplates = map[string]*template.Template{
		familyFile:    template.Must(template.New(familyFile).Option("missingkey=error").Parse(skeletonFamily)),
		archetypeFile: template.Must(template.New(archetypeFile).Option("missingkey=error").Parse(skeletonArchetype)),
	}
)

// Skeleton gives the files of a new family, by name: a small working example with
// comments, for its author to change part by part. It loads as it stands. An empty
// class means the category's first. The error says what is accepted.
func Skeleton(id agentbound.FamilyID, category agentbound.Category, class agentbound.Class) (map[string][]byte, error) {
	files, err := skeletonOf(familyFile, string(id), category, class)
	return files, newOf("family", err)
}

// ArchetypeSkeleton is Skeleton for an archetype.
func ArchetypeSkeleton(id agentbound.ArchetypeID, category agentbound.Category, class agentbound.Class) (map[string][]byte, error) {
	files, err := skeletonOf(archetypeFile, string(id), category, class)
	if err == nil {
		files[functionsFile] = bytes.Clone(skeletonValues)
	}
	return files, newOf("archetype", err)
}

// newOf says in an error what was to be new.
func newOf(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("new %s: %w", what, err)
}

func skeletonOf(file, id string, category agentbound.Category, class agentbound.Class) (map[string][]byte, error) {
	if !slug.MatchString(id) || len(id) > maxSlug {
		return nil, fmt.Errorf("id %s; accepted: a slug (lower-case letters and digits, joined by single hyphens) of at most %d characters", quote(id), maxSlug)
	}
	if err := category.Validate(); err != nil {
		return nil, err
	}
	if class == "" {
		class = category.Classes()[0]
	}
	if !slices.Contains(category.Classes(), class) {
		return nil, fmt.Errorf("class %s is not one of category %s; accepted: %s", quote(string(class)), category, joined(category.Classes()))
	}
	var b bytes.Buffer
	toolkit := id + ".star"
	err := skeletonTemplates[file].Execute(&b, map[string]string{
		"ID": id, "Category": string(category), "Class": string(class), "Toolkit": toolkit,
	})
	if err != nil {
		return nil, err
	}
	return map[string][]byte{file: b.Bytes(), toolkit: bytes.Clone(skeletonToolkit)}, nil
}

const maxSlug = 80 // the schema's

func joined[T ~string](names []T) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return strings.Join(out, ", ")
}

// New writes the skeleton of a family into a suite's folder and gives the family's
// folder: families/<id> where the suite keeps its families there or has a
// suite.yaml, <id> otherwise. It makes dir where only that is missing. It overwrites
// nothing: that the folder exists is an error (fs.ErrExist).
func New(dir string, id agentbound.FamilyID, category agentbound.Category, class agentbound.Class) (folder string, err error) {
	files, err := Skeleton(id, category, class)
	if err != nil {
		return "", err
	}
	folder, err = write(dir, familiesDir, string(id), files)
	return folder, newOf("family", err)
}

// NewArchetype is New for an archetype.
func NewArchetype(dir string, id agentbound.ArchetypeID, category agentbound.Category, class agentbound.Class) (folder string, err error) {
	files, err := ArchetypeSkeleton(id, category, class)
	if err != nil {
		return "", err
	}
	folder, err = write(dir, archetypesDir, string(id), files)
	return folder, newOf("archetype", err)
}

// write puts files into dir/id, or dir/sub/id where the suite keeps its like there.
func write(dir, sub, id string, files map[string][]byte) (folder string, err error) {
	dir = filepath.Clean(dir)
	if info, err := os.Stat(filepath.Dir(dir)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no folder %s to put it in; make it first, or choose another", printable(filepath.Dir(dir)))
	}
	if err := makeFolder(dir); err != nil {
		return "", err
	}
	parent := dir
	for _, mark := range []string{sub, suiteFile} {
		if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
			parent = filepath.Join(dir, sub)
		}
	}
	if err := makeFolder(parent); err != nil {
		return "", err
	}
	folder = filepath.Join(parent, id)
	if err := os.Mkdir(folder, 0o755); errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s: %w; choose another id, or remove the folder", printable(folder), fs.ErrExist)
	} else if err != nil {
		return "", unwritten(folder, err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(folder, name), files[name], 0o644); err != nil {
			return "", unwritten(filepath.Join(folder, name), err)
		}
	}
	return folder, nil
}

// makeFolder makes a folder where there is none, and none above it.
func makeFolder(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if err := os.Mkdir(name, 0o755); err != nil {
		return unwritten(name, err)
	}
	return nil
}

// unwritten words the failure to make a file or folder.
func unwritten(name string, err error) error {
	switch failed := (*fs.PathError)(nil); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there and is not a folder; choose another", printable(name))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("you may not write %s; choose another folder, or give yourself the right to (chmod u+w)", printable(name))
	case errors.As(err, &failed):
		err = failed.Err
	}
	return fmt.Errorf("%s cannot be written: %w", printable(name), err)
}
