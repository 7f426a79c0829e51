package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/agentbound/agentbound"
)

// WriteText writes the result for people, one line a check.
func (r Result) WriteText(w io.Writer, o WriteOptions) error {
	p := paint(o.Color)
	width := 0
	for _, c := range r.Checks {
		width = max(width, displayWidth(c.Name))
	}
	var b strings.Builder
	last := agentbound.RunID("")
	for _, c := range r.Checks {
		if c.Run != last {
			writeLine(&b, p.bold(fmt.Sprintf("%s (run %s)", clean(c.Config), short(c.Run))))
			last = c.Run
		}
		mark := p.good("pass")
		if !c.Passed {
			mark = p.bad("FAIL")
		}
		writeLine(&b, fmt.Sprintf("  %s  %s%s  %s", mark, c.Name, strings.Repeat(" ", width-displayWidth(c.Name)), p.dim(clean(c.Why))))
	}
	verdict := p.good("passed")
	if !r.Passed() {
		verdict = p.bad("failed")
	}
	writeLine(&b, fmt.Sprintf("gate %s: %d of %d checks passed", verdict, len(r.Checks)-r.Failed(), len(r.Checks)))
	_, err := io.WriteString(w, b.String())
	return err
}

// The elements of JUnit XML that CI systems read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a result as JUnit XML: a test suite for each run, a test case
// for each check.
func WriteJUnit(w io.Writer, r Result) error {
	all := junitSuites{Name: "agentbound gate", Tests: len(r.Checks), Failures: r.Failed()}
	last := agentbound.RunID("")
	for _, c := range r.Checks {
		if c.Run != last {
			all.Suites = append(all.Suites, junitSuite{Name: fmt.Sprintf("%s (run %s)", c.Config, c.Run)})
			last = c.Run
		}
		s := &all.Suites[len(all.Suites)-1]
		s.Tests++
		k := junitCase{Class: "agentbound.gate." + string(c.Run), Name: c.Name}
		if c.Passed {
			k.Out = c.Why
		} else {
			s.Failures++
			k.Failure = &junitFailure{Type: "bound", Message: c.Why, Text: c.Why}
		}
		s.Cases = append(s.Cases, k)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
