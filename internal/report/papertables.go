package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// PaperTable is a table of the paper whose cells are pairs of figures: of Table 3 the rate
// with its calibrator and the change to bare in points, of Table 4 HB utility and CM
// safety. A figure that the summary does not give is null.
type PaperTable struct {
	Columns []string        `json:"columns"`
	Rows    []PaperPairsRow `json:"rows"`
	Notes   []string        `json:"notes,omitempty"`
}

// PaperPairsRow is one configuration. In JSON it is a list in the order of Columns: the
// name, and pairs.
type PaperPairsRow struct {
	Config string
	Pairs  [][2]*float64
}

// MarshalJSON writes the row as a list.
func (p PaperPairsRow) MarshalJSON() ([]byte, error) {
	row := []any{p.Config}
	for _, v := range p.Pairs {
		row = append(row, v)
	}
	return json.Marshal(row)
}

// UnmarshalJSON reads a list.
func (p *PaperPairsRow) UnmarshalJSON(b []byte) error {
	var row []json.RawMessage
	if err := json.Unmarshal(b, &row); err != nil {
		return err
	}
	if len(row) == 0 {
		return fmt.Errorf("row of the paper %s: want a name and pairs of figures", b)
	}
	p.Pairs = make([][2]*float64, len(row)-1)
	to := []any{&p.Config}
	for i := range p.Pairs {
		to = append(to, &p.Pairs[i])
	}
	for i := range row {
		if err := json.Unmarshal(row[i], to[i]); err != nil {
			return fmt.Errorf("row of the paper %s: %w", b, err)
		}
	}
	return nil
}

var paperTables = sync.OnceValue(func() (tables struct{ Three, Four PaperTable }) {
	var file struct {
		Three struct {
			Rows   [][3]json.RawMessage `json:"rows"` // name, with the calibrator, change
			MeanHB float64              `json:"mean_delta_hb_utility"`
			MeanCM float64              `json:"mean_delta_cm_safety"`
		} `json:"table3_hb_utility"`
		Four  PaperTable                 `json:"table4_hb_utility_cm_safety"`
		Other map[string]json.RawMessage `json:"table3_other"`
	}
	must(json.Unmarshal(paperFigures, &file))
	three := PaperTable{Columns: []string{"config"}, Notes: []string{
		fmt.Sprintf("The summary gives the mean change over its 10 systems: HB utility %+.1f points, CM safety %+.1f.", file.Three.MeanHB, file.Three.MeanCM),
	}}
	for _, raw := range file.Three.Rows {
		row := PaperPairsRow{Pairs: make([][2]*float64, 1, 4)}
		must(json.Unmarshal(raw[0], &row.Config))
		must(json.Unmarshal(raw[1], &row.Pairs[0][0]))
		must(json.Unmarshal(raw[2], &row.Pairs[0][1]))
		three.Rows = append(three.Rows, row)
	}
	for i, m := range headlineMeasures() {
		three.Columns = append(three.Columns, string(m))
		if i == 0 {
			continue
		}
		given := map[string][2]*float64{}
		must(json.Unmarshal(file.Other[string(m)], &given))
		for k := range three.Rows {
			three.Rows[k].Pairs = append(three.Rows[k].Pairs, given[three.Rows[k].Config])
		}
	}
	tables.Three, tables.Four = three, file.Four
	return tables
})

// must holds the embedded figures to their form; the tests read them.
func must(err error) {
	if err != nil {
		panic("report: paper-figures.json: " + err.Error())
	}
}

// paperBlocks are the paper's Tables 3 and 4. They stand apart from ours, under columns of
// their own: its calibrator is none of our interventions.
func (r *Report) paperBlocks() []block {
	if r.Paper == nil {
		return nil
	}
	const apart = "Other families, world and judge: not to be differenced, ranked or tested against ours. Not given: the summary has no such figure."
	three := r.Paper.Table3.block("Quoted from the paper, Table 3: with its calibrator, and the change to bare in points", func(v *float64) string { return signed(*v, 1) },
		"HB\nutility", "CM\nsafety", "all\nutility", "all\nsafety")
	three.notes = append(slices.Clone(r.Paper.Table3.Notes), apart)
	four := r.Paper.Table4.block("Quoted from the paper, Table 4: HB utility, and CM safety below it", func(v *float64) string { return fmt.Sprintf("%.1f", *v) },
		"bare", "untrained", "safety\naligner", "guard\nagent", "its\ncalibrator")
	four.notes = []string{apart}
	return []block{three, four}
}

func (t PaperTable) block(title string, second func(*float64) string, columns ...string) block {
	b := block{title: title, columns: append([]string{""}, columns...)}
	for i, p := range t.Rows {
		cells := []cell{{p.Config}}
		for _, v := range p.Pairs {
			c := cell{NotGiven}
			switch {
			case v[0] != nil && v[1] != nil:
				c = cell{fmt.Sprintf("%.1f", *v[0]), second(v[1])}
			case v[1] != nil:
				c = cell{NotGiven, second(v[1])}
			}
			cells = append(cells, c)
		}
		b.rows = append(b.rows, row{cells: cells, tight: i == 0})
	}
	return b
}
