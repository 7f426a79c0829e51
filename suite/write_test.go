package suite_test

import (
	"path/filepath"
	"testing"

	"github.com/agentbound/agentbound/suite"
)

// TestWriteReadsBack: what is written has the digest of what was built, archetypes and
// hand-written families alike, packed and as files.
func TestWriteReadsBack(t *testing.T) {
	for _, source := range []string{"../suites/core", "../suites/examples", "testdata/base"} {
		if testing.Short() && filepath.Base(source) == "core" {
			continue
		}
		s, err := suite.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(t.TempDir(), "new")
		if err := s.Write(folder); err != nil {
			t.Fatal(err)
		}
		again, err := suite.Open(folder)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if again.Digest != s.Digest {
			for i := range s.Families {
				if s.Families[i].Digest != again.Families[i].Digest {
					t.Errorf("%s: family %s reads back as another", source, s.Families[i].ID)
				}
			}
			t.Errorf("%s: digest %s, read back %s", source, s.Digest, again.Digest)
		}
		if err := s.Write(folder); err == nil {
			t.Error("a folder that is not empty was written over")
		}
		blob, err := s.Pack()
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := suite.Unpack(blob)
		if err != nil {
			t.Fatal(err)
		}
		if unpacked.Digest != s.Digest || len(unpacked.Families) != len(s.Families) {
			t.Errorf("%s: unpacked to another suite", source)
		}
	}
}
