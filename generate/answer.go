package generate

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Bounds of an answer.
const (
	maxAnswer = 2 << 20
	maxFiles  = 17 // family.yaml and the 16 toolkits that a family may have
	yamlName  = "family.yaml"
)

// Files are the files of a package by name.
type Files map[string]string

// names are the files in order, family.yaml first.
func (f Files) names() []string {
	names := slices.Sorted(maps.Keys(f))
	if i := slices.Index(names, yamlName); i > 0 {
		names = slices.Concat([]string{yamlName}, names[:i], names[i+1:])
	}
	return names
}

var (
	fileName  = regexp.MustCompile(`[A-Za-z0-9_.\-/\\]*?([A-Za-z0-9][A-Za-z0-9_\-]*\.(?:ya?ml|star))\b`)
	toolkitRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_\-]*\.star$`)
	commented = regexp.MustCompile(`^(?:#|//)\s*(?:FILE:?\s*)?[\x60*]*([A-Za-z0-9_./\-]+\.(?:ya?ml|star))[\x60*]*\s*$`)
)

// ParseAnswer takes the files out of a writer's answer: fenced blocks (backticks or
// tildes, as in CommonMark) that are named in the line above, behind the fence or in
// their first line. Prose around them and blocks of other kinds do not matter. The
// problems say what to do; with any the answer is not to be used.
func ParseAnswer(text string) (files Files, problems []string) {
	if len(text) > maxAnswer {
		return nil, []string{fmt.Sprintf("the answer is larger than %d MiB; write the family alone", maxAnswer>>20)}
	}
	files = Files{}
	for _, b := range blocks(text) {
		name := b.name()
		if name == "" {
			continue
		}
		switch old, twice := files[name]; {
		case b.open:
			problems = append(problems, fmt.Sprintf("the block of %s is not closed: the answer broke off; write it whole, and shorter", name))
		case name != yamlName && !toolkitRE.MatchString(name):
			problems = append(problems, fmt.Sprintf("file %q is not one of a package; accepted: %s and toolkits such as loans.star", name, yamlName))
		case strings.TrimSpace(b.text) == "":
			problems = append(problems, fmt.Sprintf("the block of %s is empty; write the file whole", name))
		case twice && old != b.text:
			problems = append(problems, fmt.Sprintf("%s stands twice in the answer, with different content; write each file once", name))
		default:
			files[name] = b.text
		}
	}
	if len(files) > maxFiles {
		problems = append(problems, fmt.Sprintf("%d files; accepted: at most %d", len(files), maxFiles))
	}
	if len(files) == 0 && len(problems) == 0 {
		problems = append(problems, "no file was found in the answer; write each file in a fenced block of its own, with a line such as FILE: family.yaml right above it")
	}
	return files, problems
}

// block is a fenced block: what stands in the line above, behind the fence, and in it.
type block struct {
	above, info, text string
	open              bool // to the end of the answer
}

// blocks finds the fenced blocks of a text.
func blocks(text string) []block {
	var out []block
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	above := ""
	for i := 0; i < len(lines); i++ {
		fence, indent, info := opening(lines[i])
		if fence == "" {
			if strings.TrimSpace(lines[i]) != "" {
				above = strings.TrimSpace(lines[i])
			}
			continue
		}
		b := block{above: above, info: info, open: true}
		var content []string
		for i++; i < len(lines); i++ {
			if closes(lines[i], fence) {
				b.open = false
				break
			}
			content = append(content, dedented(lines[i], indent))
		}
		b.text = strings.Join(content, "\n") + "\n"
		out = append(out, b)
		above = ""
	}
	return out
}

// opening gives the fence that a line opens with, its indentation and what stands behind
// it.
func opening(line string) (fence string, indent int, info string) {
	rest := strings.TrimLeft(line, " ")
	indent = len(line) - len(rest)
	for _, mark := range []string{"`", "~"} {
		n := len(rest) - len(strings.TrimLeft(rest, mark))
		if n < 3 || indent > 3 {
			continue
		}
		info = strings.TrimSpace(rest[n:])
		if mark == "`" && strings.Contains(info, "`") {
			continue
		}
		return rest[:n], indent, info
	}
	return "", 0, ""
}

func closes(line, fence string) bool {
	line = strings.TrimRight(line, " \t")
	rest := strings.TrimLeft(line, " ")
	return len(line)-len(rest) <= 3 && len(rest) >= len(fence) && strings.Trim(rest, fence[:1]) == ""
}

func dedented(line string, indent int) string {
	for range indent {
		line = strings.TrimPrefix(line, " ")
	}
	return line
}

// name is the file that a block holds, without folders; empty where it is no file. What
// begins like a family is one.
func (b *block) name() string {
	for _, said := range []string{b.info, b.above} {
		if m := fileName.FindAllStringSubmatch(said, -1); len(m) == 1 && (said == b.info || heading(said, m[0][0])) {
			return canonical(m[0][1])
		}
	}
	first, rest, _ := strings.Cut(b.text, "\n")
	if m := commented.FindStringSubmatch(strings.TrimSpace(first)); m != nil {
		if name := canonical(path.Base(m[1])); name == yamlName {
			b.text = rest
			return name
		} else if toolkitRE.MatchString(name) {
			return name
		}
	}
	if strings.HasPrefix(strings.TrimSpace(b.text), "format: 1") {
		return yamlName
	}
	return ""
}

// heading reports whether a line names a file and is not prose that mentions one.
func heading(line, name string) bool {
	return len(strings.Fields(strings.Replace(line, name, "", 1))) <= 4
}

func canonical(name string) string {
	if strings.EqualFold(name, yamlName) || strings.EqualFold(name, "family.yml") {
		return yamlName
	}
	return name
}

// fenceFor is a fence that a text does not hold.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}
