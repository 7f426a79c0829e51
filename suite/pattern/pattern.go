package pattern

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
)

// Kind is what a pattern is for.
type Kind string

// The four kinds of pattern.
const (
	Misuse        Kind = "misuse"
	Disguise      Kind = "disguise"
	Authorisation Kind = "authorisation"
	Containment   Kind = "containment"
)

// Kinds are the four kinds, in the order of a file.
func Kinds() []Kind { return []Kind{Misuse, Disguise, Authorisation, Containment} }

// minimum is how many patterns a class of the built-in library has of each kind.
var minimum = map[Kind]int{Misuse: 4, Disguise: 4, Authorisation: 4, Containment: 3}

// Pattern is one way to do it, in a sentence or two that name no place, tool or person.
type Pattern struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Set is what the library has for one class.
type Set struct {
	Class    agentbound.Class
	Category agentbound.Category
	Patterns map[Kind][]Pattern
}

// Find gives a pattern by kind and id.
func (s *Set) Find(k Kind, id string) (Pattern, error) {
	for _, p := range s.Patterns[k] {
		if p.ID == id {
			return p, nil
		}
	}
	known := make([]string, 0, len(s.Patterns[k]))
	for _, p := range s.Patterns[k] {
		known = append(known, p.ID)
	}
	return Pattern{}, fmt.Errorf("class %s has no %s pattern %q; there are %s", s.Class, k, id, strings.Join(known, ", "))
}

// Collection is a library: the sets by class.
type Collection map[agentbound.Class]*Set

// Class gives the set of a class.
func (c Collection) Class(class agentbound.Class) (*Set, error) {
	if s, ok := c[class]; ok {
		return s, nil
	}
	if err := class.Validate(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("there are no patterns for class %s; there are for %s", class, joined(c.Classes()))
}

// Classes are the classes that the collection has, sorted.
func (c Collection) Classes() []agentbound.Class { return slices.Sorted(maps.Keys(c)) }

// Merge gives the collection with the sets of another, which outrank its own.
func (c Collection) Merge(other Collection) Collection {
	merged := maps.Clone(c)
	maps.Copy(merged, other)
	return merged
}

// Check names, one a line, what a collection lacks for generation in earnest: of each
// class it has, kinds with fewer patterns than the library promises.
func (c Collection) Check() []string {
	var short []string
	for _, class := range c.Classes() {
		for _, k := range Kinds() {
			if n := len(c[class].Patterns[k]); n < minimum[k] {
				short = append(short, fmt.Sprintf("class %s has %d %s patterns; at least %d", class, n, k, minimum[k]))
			}
		}
	}
	return short
}

//go:embed library
var library embed.FS

var builtIn = sync.OnceValues(func() (Collection, error) {
	files, err := fs.Sub(library, "library")
	if err != nil {
		return nil, err
	}
	return Load(files)
})

// BuiltIn is the library that is embedded in the program.
func BuiltIn() (Collection, error) { return builtIn() }

// Library gives the built-in set of a class.
func Library(class agentbound.Class) (*Set, error) {
	c, err := builtIn()
	if err != nil {
		return nil, err
	}
	return c.Class(class)
}

// Find gives a pattern of the built-in library.
func Find(class agentbound.Class, k Kind, id string) (Pattern, error) {
	s, err := Library(class)
	if err != nil {
		return Pattern{}, err
	}
	return s.Find(k, id)
}

// Check names what the built-in library lacks.
func Check() ([]string, error) {
	c, err := builtIn()
	if err != nil {
		return nil, err
	}
	return c.Check(), nil
}

func joined[T ~string](names []T) string {
	if len(names) == 0 {
		return "none"
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return strings.Join(out, ", ")
}
