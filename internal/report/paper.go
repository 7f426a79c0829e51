package report

import (
	_ "embed" // the paper's figures
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// paperFigures are the figures of the paper as its summary gives them, with their
// source.
//
//go:embed paper-figures.json
var paperFigures []byte

// Paper is the paper's Tables 2, 3 and 4, quoted. Their rows are never differenced, ranked or
// tested against ours.
type Paper struct {
	Caption string     `json:"caption"`
	Source  string     `json:"source"`
	Columns []string   `json:"columns"`
	Rows    []PaperRow `json:"rows"`
	Notes   []string   `json:"notes,omitempty"` // figures that Table 2 itself does not give
	Table3  PaperTable `json:"table3"`
	Table4  PaperTable `json:"table4"`
}

// PaperRow is one configuration. In JSON it is a list in the order of Columns: the
// name, its group (closed, open, harness), and percentages, null where the summary
// gives none.
type PaperRow struct {
	Config, Group string
	Values        []*float64
}

// MarshalJSON writes the row as a list.
func (p PaperRow) MarshalJSON() ([]byte, error) {
	row := []any{p.Config, p.Group}
	for _, v := range p.Values {
		row = append(row, v)
	}
	return json.Marshal(row)
}

// UnmarshalJSON reads a list.
func (p *PaperRow) UnmarshalJSON(b []byte) error {
	var row []json.RawMessage
	if err := json.Unmarshal(b, &row); err != nil {
		return err
	}
	if len(row) < 2 {
		return fmt.Errorf("row of the paper %s: want a name, a group and figures", b)
	}
	p.Values = make([]*float64, len(row)-2)
	to := []any{&p.Config, &p.Group}
	for i := range p.Values {
		to = append(to, &p.Values[i])
	}
	for i := range row {
		if err := json.Unmarshal(row[i], to[i]); err != nil {
			return fmt.Errorf("row of the paper %s: %w", b, err)
		}
	}
	return nil
}

// NotGiven is drawn where the summary of the paper has no figure.
const NotGiven = "not given"

var figures = sync.OnceValue(func() Paper {
	var file struct {
		Source string `json:"source"`
		Table2 struct {
			Columns []string          `json:"columns"`
			Rows    []PaperRow        `json:"rows"`
			Derived map[string]string `json:"derived"`
		} `json:"table2"`
	}
	if err := json.Unmarshal(paperFigures, &file); err != nil {
		panic("report: paper-figures.json: " + err.Error()) // embedded, and read by the tests
	}
	p := Paper{Source: file.Source, Columns: file.Table2.Columns, Rows: file.Table2.Rows}
	for figure, how := range file.Table2.Derived {
		p.Notes = append(p.Notes, figure+": "+how)
	}
	slices.Sort(p.Notes)
	p.Table3, p.Table4 = paperTables().Three, paperTables().Four
	return p
})

// quote sets the paper's rows beside runs.
func quote(runs []Run) *Paper {
	p := figures()
	p.Caption = "The paper's Tables 2, 3 and 4, quoted: its own 1000 families, world and judge. "
	if ours := settings(runs); len(ours) > 0 {
		p.Caption += "Ours: " + strings.Join(ours, "; ") + ". "
	}
	p.Caption += "Other families, another world and another judge: the figures are not to be differenced, ranked or tested against ours."
	return &p
}

// settings are the suites, worlds and judges of runs, each once.
func settings(runs []Run) []string {
	var out []string
	for i := range runs {
		if s := runs[i].setting(", "); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// setting says what a run stands on.
func (r *Run) setting(separator string) string {
	families := fmt.Sprintf("%d families", r.Suite.Families)
	if r.Selected != r.Suite.Families {
		families = fmt.Sprintf("%d of %d families", r.Selected, r.Suite.Families)
	}
	return clean(strings.Join([]string{
		fmt.Sprintf("suite %s (%s)", r.Suite.Name, short(r.Suite.Digest)), families, "world " + r.World, "judge " + r.Judge,
	}, separator))
}
