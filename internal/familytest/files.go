package familytest

import (
	"io/fs"
	"path"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
)

// Files gives a built-in family as a package of its own: family.yaml and the toolkits
// it names beside it, those that the suite shares too.
func Files(id agentbound.FamilyID) (map[string]string, error) {
	fsys, err := suites.FS(suites.Default)
	if err != nil {
		return nil, err
	}
	folder := path.Join("families", string(id))
	s, err := suite.Load(fsys, folder)
	if err != nil {
		return nil, err
	}
	yaml, err := fs.ReadFile(fsys, path.Join(folder, "family.yaml"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{"family.yaml": string(yaml)}
	for _, k := range s.Families[0].Toolkits {
		files[k.Name] = k.Text
	}
	return files, nil
}
