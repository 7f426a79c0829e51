package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Format is how a report is written.
type Format string

// The formats.
const (
	Table    Format = "table"    // for a terminal, 100 columns wide
	Markdown Format = "markdown" // GitHub's tables
	CSV      Format = "csv"      // one row a run and measure
	JSON     Format = "json"     // design §9
	HTML     Format = "html"     // one page with figures, failures and trials; see WriteHTML
)

// ParseFormat reads --format.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Table, Markdown, CSV, JSON, HTML:
		return f, nil
	}
	return "", fmt.Errorf("format %q is not known; accepted: table, markdown, csv, json, html", s)
}

// WriteOptions say how a report looks.
type WriteOptions struct {
	Color bool // ANSI colours in the table; the caller knows the terminal and NO_COLOR
}

// Write writes the report. Besides the writer's errors there are two: CSV has no room
// for comparisons and the paper's rows, and HTML shows trials, which a report does not
// keep (WriteHTML reads them from the store).
func (r *Report) Write(w io.Writer, f Format, o WriteOptions) error {
	switch f {
	case Table:
		return r.writeTable(w, o.Color)
	case Markdown:
		return r.writeMarkdown(w)
	case CSV:
		return r.writeCSV(w)
	case JSON:
		return r.writeJSON(w)
	case HTML:
		return errHTML
	}
	_, err := ParseFormat(string(f))
	return err
}

func (r *Report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

var errHTML = errors.New("html shows trials, which are in the store: use WriteHTML")

var errCSV = errors.New("csv holds the measures of runs alone; for comparisons and the paper's rows use --format json, table or markdown")
