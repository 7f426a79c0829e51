package screen

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
)

// Bounds of what is read beside the families.
const (
	largestFile = 4 << 20
	mostFiles   = 20_000
)

// FileTexts are what a suite's folder holds beyond the compiled suite, for a reader of
// its files: comments of YAML files, and every other text. A file that cannot be looked
// through (too large, no UTF-8, a link) is a finding of its own, as nobody screens it.
// Folders and files whose name begins with a full stop are left out.
//
// The error is the file system's.
func FileTexts(fsys fs.FS, s *suite.Suite) ([]Text, []Finding, error) {
	kits := map[string]bool{}
	for _, f := range s.Families {
		for _, kit := range f.Toolkits {
			kits[kit.Text] = true
		}
	}
	var texts []Text
	var unread []Finding
	files := 0
	_, missing := fs.Stat(fsys, "family.yaml")
	alone := missing == nil && len(s.Families) == 1
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		if files++; files > mostFiles {
			return fmt.Errorf("the folder holds more than %d files; screen the suite's own folder", mostFiles)
		}
		id := ownerOf(name, s, alone)
		text, why := readText(fsys, name, d)
		if why != "" {
			unread = append(unread, Finding{id, "file " + clip(name), Unreadable, Review, why, infoOf[Unreadable].remedy})
			return nil
		}
		texts = append(texts, Text{ID: id, Where: "name of file " + clip(name), Text: path.Base(name)})
		texts = append(texts, fileTexts(id, name, text, kits)...)
		return nil
	})
	return texts, unread, err
}

// ownerOf is the family whose folder a file lies in; alone says that there is no other.
func ownerOf(name string, s *suite.Suite, alone bool) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := s.Family(agentbound.FamilyID(path.Base(dir))); ok {
			return path.Base(dir)
		}
	}
	if alone {
		return string(s.Families[0].ID)
	}
	return everyone
}

// readText gives a file, or says why it cannot be looked through.
func readText(fsys fs.FS, name string, d fs.DirEntry) (text, why string) {
	if !d.Type().IsRegular() {
		return "", "it is no regular file"
	}
	f, err := fsys.Open(name)
	if err != nil {
		return "", unopened(err)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	b, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	switch {
	case err != nil:
		return "", unopened(err)
	case len(b) > largestFile:
		return "", "it is larger than 4 MiB"
	case !utf8.Valid(b) || strings.ContainsRune(string(b), 0):
		return "", "it is no text"
	}
	return string(b), ""
}

func unopened(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "it may not be read"
	}
	return "it cannot be read"
}

// fileTexts are the parts of a file that the compiled suite does not have, line by line.
// What the allow list names is allowed, and so of that file too only comments.
func fileTexts(id, name, text string, kits map[string]bool) []Text {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if kits[text] {
		return nil
	}
	lines := strings.Split(text, "\n")
	if base := path.Base(name); base == "family.yaml" || base == "suite.yaml" || name == AllowFile {
		lines = comments(text, len(lines))
	}
	var out []Text
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			out = append(out, Text{ID: id, Where: fmt.Sprintf("file %s:%d", clip(name), i+1), Text: line})
		}
	}
	return out
}

// comments keeps of each line of YAML what its comment says.
func comments(text string, n int) []string {
	out := make([]string, n)
	for _, t := range lexer.Tokenize(text) {
		if t.Type == token.CommentType && t.Position.Line >= 1 && t.Position.Line <= n {
			out[t.Position.Line-1] = strings.TrimSpace(t.Value)
		}
	}
	return out
}
