package suite

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// toolkitName is the pattern of the schema's toolkit names.
var toolkitName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*\.star$`)

// toolkit finds a toolkit beside the family or in the suite's toolkits, and reads
// it. file is empty where the report says what is wrong.
func (l *loader) toolkit(c *checker, n *node, folder string) (s agentbound.Source, file string, err error) {
	if l.given != nil {
		text, ok := l.given[n.text]
		if !ok {
			c.at(n.pos, "no toolkit %s", n.text)
			return s, "", nil
		}
		return agentbound.Source{Name: n.text, Text: text}, n.text, nil
	}
	places := []string{path.Join(folder, n.text)}
	if l.home != "" {
		places = append(places, path.Join(l.home, toolkitsDir, n.text))
	}
	var found, shown []string
	for _, place := range places {
		shown = append(shown, l.show(place))
		there, err := l.there(place)
		if err != nil {
			c.at(n.pos, "toolkit %s: %v", l.show(place), err)
			return s, "", nil
		}
		if there {
			found = append(found, place)
		}
	}
	switch len(found) {
	case 0:
		c.at(n.pos, "no toolkit %s; looked for %s", n.text, strings.Join(shown, " and "))
		return s, "", nil
	case 2:
		c.at(n.pos, "toolkit %s is both beside the family and among the suite's (%s); rename or remove one", n.text, l.show(found[1]))
		return s, "", nil
	}
	return l.source(c, n, found[0])
}

// source reads a toolkit once for the whole suite.
func (l *loader) source(c *checker, n *node, file string) (agentbound.Source, string, error) {
	if s, ok := l.texts[file]; ok {
		return s, file, nil
	}
	src, err := l.read(file, MaxToolkitBytes)
	if fault := (*fileFault)(nil); errors.As(err, &fault) {
		c.at(n.pos, "toolkit %s: %v", l.show(file), fault)
		return agentbound.Source{}, "", nil
	}
	if err != nil {
		return agentbound.Source{}, "", err
	}
	if !utf8.Valid(src) {
		c.at(n.pos, "toolkit %s is not UTF-8; save it as UTF-8", l.show(file))
		return agentbound.Source{}, "", nil
	}
	if bytes.HasPrefix(src, []byte(byteOrderMark)) {
		r := newReport(l.show(file), src)
		r.at(pos{1, 1}, "%s", unmarked)
		l.problems = append(l.problems, r.problems...)
		return agentbound.Source{}, "", nil
	}
	s := agentbound.Source{Name: n.text, Text: string(src)}
	l.texts[file] = s
	return s, file, nil
}

// located splits an error of a toolkit: file, line, column where known, message.
var located = regexp.MustCompile(`(?s)^([^:]*):([0-9]+)(?::([0-9]+))?:? (.*)$`)

// kitProblems reports what keeps toolkits from loading, in the file at fault. Each
// is tried alone, so that all that are broken are named.
func (l *loader) kitProblems(c *checker, sources []agentbound.Source, files map[string]string, together error) {
	alone := false
	for _, s := range sources {
		if _, err := star.LoadKit([]agentbound.Source{s}); err != nil {
			alone = true
			l.kitProblem(c, sources, files, err)
		}
	}
	if !alone {
		l.kitProblem(c, sources, files, together)
	}
}

func (l *loader) kitProblem(c *checker, sources []agentbound.Source, files map[string]string, err error) {
	m := located.FindStringSubmatch(err.Error())
	for _, s := range sources {
		if len(m) == 0 || m[1] != s.Name {
			continue
		}
		line, _ := strconv.Atoi(m[2])
		col, _ := strconv.Atoi(m[3])
		r := newReport(l.show(files[s.Name]), []byte(s.Text))
		r.at(pos{line, max(1, col)}, "the toolkit does not load: %s", m[4])
		l.problems = append(l.problems, r.problems...)
		return
	}
	c.at(c.root.get("toolkits").pos, "the toolkits do not load: %v", err)
}
