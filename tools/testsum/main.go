// Testsum runs go test and closes with how many tests ran:
//
//	testsum [go test flags] packages
//
// It prints what go test prints without -v: one line a package, and the output of
// every test that fails. The last line is such as "41 passed, 0 failed, 2 skipped".
// It counts tests, examples and fuzz targets, not their subtests; a package that
// fails outside any of them (it does not build, or its TestMain exits) counts as
// one failure. It exits non-zero where anything failed, and where no test ran.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	n, err := run(os.Args[1:])
	if err == nil && n.passed+n.failed == 0 {
		err = errors.New("no test ran")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum: go test:", err)
		n.failed = max(n.failed, 1)
	}
	fmt.Println(n)
	if n.failed > 0 {
		os.Exit(1)
	}
}

func run(args []string) (count, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return count{}, err
	}
	if err := cmd.Start(); err != nil {
		return count{}, err
	}
	n, err := summarise(out, os.Stdout)
	return n, errors.Join(err, cmd.Wait())
}

type count struct{ passed, failed, skipped int }

func (c count) String() string {
	s := fmt.Sprintf("%d passed, %d failed", c.passed, c.failed)
	if c.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", c.skipped)
	}
	return s
}

// event is a line of go test -json; see go doc test2json.
type event struct{ Action, Package, Test, Output string }

// pkg is what a package has said so far.
type pkg struct {
	output []event
	passed map[string]bool // tests and subtests that passed or were skipped
	failed bool            // one of its tests did
}

// summarise reads the events of go test -json from r and writes to w what a reader
// of plain go test would see.
func summarise(r io.Reader, w io.Writer) (count, error) {
	var n count
	pkgs := map[string]*pkg{}
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		var e event
		switch {
		case line == "":
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Fprint(w, line) // not an event: something wrote to standard output around it
		case e.Action == "build-output":
			fmt.Fprint(w, e.Output)
		case e.Package != "":
			if pkgs[e.Package] == nil {
				pkgs[e.Package] = &pkg{passed: map[string]bool{}}
			}
			n.add(pkgs[e.Package], e, w)
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func (n *count) add(p *pkg, e event, w io.Writer) {
	inTest, top := e.Test != "", !strings.Contains(e.Test, "/")
	switch e.Action {
	case "output":
		p.output = append(p.output, e)
	case "pass", "skip":
		p.passed[e.Test] = true
		switch {
		case !inTest:
			p.print(w)
		case top && e.Action == "pass":
			n.passed++
		case top:
			n.skipped++
		}
	case "fail":
		switch {
		case !inTest:
			if !p.failed {
				n.failed++
			}
			p.print(w)
		case top:
			n.failed++
			p.failed = true
		}
	}
}

// print writes the package's own lines and those of tests that did not pass.
func (p *pkg) print(w io.Writer) {
	for _, e := range p.output {
		switch {
		case e.Test != "" && (p.passed[e.Test] || strings.HasPrefix(e.Output, "=== ")):
		case e.Test == "" && e.Output == "PASS\n":
		default:
			fmt.Fprint(w, e.Output)
		}
	}
	p.output = nil
}
