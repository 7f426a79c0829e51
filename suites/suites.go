// Package suites holds the built-in suites, embedded in the program: they need no
// files beside it.
package suites

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentbound/agentbound/suite"
)

//go:embed core
var files embed.FS

// Default is the suite that is used where none is named.
const Default = "core"

// Names are the built-in suites.
func Names() []string { return []string{Default} }

// FS gives the files of a built-in suite, with suite.yaml at its root.
func FS(name string) (fs.FS, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("built-in suite %q is not known; accepted: %s, or the path of a folder", name, strings.Join(Names(), ", "))
	}
	return fs.Sub(files, name)
}

// Load loads a built-in suite.
func Load(name string) (*suite.Suite, error) {
	if _, err := FS(name); err != nil {
		return nil, err
	}
	return suite.Load(files, name)
}
