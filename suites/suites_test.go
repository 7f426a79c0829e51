package suites_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
)

func TestBuiltInSuitesLoad(t *testing.T) {
	for _, name := range suites.Names() {
		s, err := suites.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || len(s.Families) == 0 {
			t.Errorf("suite %s: named %s, %d families", name, s.Name, len(s.Families))
		}
	}
}

// TestEmbeddedIsTheFolder guards against files that go:embed leaves out.
func TestEmbeddedIsTheFolder(t *testing.T) {
	embedded, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := suite.Open(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	if embedded.Digest != folder.Digest {
		t.Errorf("embedded %s, folder %s", embedded.Digest, folder.Digest)
	}
}

func TestUnknownName(t *testing.T) {
	_, err := suites.Load("kernel")
	if err == nil || !strings.Contains(err.Error(), "accepted: core") {
		t.Errorf("error %v", err)
	}
}

func TestFS(t *testing.T) {
	fsys, err := suites.FS(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(fsys, "suite.yaml"); err != nil {
		t.Error(err)
	}
}
