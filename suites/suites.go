// Package suites holds the built-in suites, embedded in the program: they need no
// files beside it.
//
// core is built from its archetypes (core/), core-small is drawn from it; both are
// embedded packed, and a test proves that they are what the sources give (make suites
// builds them again). examples is three families as people write them.
package suites

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentbound/agentbound/suite"
)

//go:embed examples
var files embed.FS

var (
	//go:embed core.suite
	core []byte
	//go:embed core-small.suite
	coreSmall []byte
	//go:embed core/screen.yaml
	coreAllowed []byte
)

// Default is the suite that is used where none is named.
const Default = "core"

// SmallFamilies is the size of core-small.
const SmallFamilies = 100

// Names are the built-in suites.
func Names() []string { return []string{Default, "core-small", "examples"} }

// Examples gives the files of the suite of examples, with suite.yaml at its root.
func Examples() fs.FS {
	sub, err := fs.Sub(files, "examples")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// Load loads a built-in suite.
func Load(name string) (*suite.Suite, error) {
	switch {
	case !slices.Contains(Names(), name):
		return nil, fmt.Errorf("built-in suite %q is not known; accepted: %s, or the path of a suite", name, strings.Join(Names(), ", "))
	case name == "examples":
		return suite.Load(files, name)
	case name == Default:
		return suite.UnpackTrusted(core)
	}
	return suite.UnpackTrusted(coreSmall)
}

// Allowed is the list of what screening lets stand in a built-in suite; nil for none.
func Allowed(name string) []byte {
	if name == "examples" {
		return nil
	}
	return coreAllowed
}
