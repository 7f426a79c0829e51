package metric

import "iter"

// Partition shows a run with and without the trials of which something holds, such
// as a Thought that mentions a test or simulation.
type Partition struct {
	Share   *float64 `json:"share"` // percent of rows of which it holds; nil where there are no rows
	Rows    int      `json:"rows"`
	Marked  int      `json:"marked"`
	All     Summary  `json:"all"`
	With    Summary  `json:"with"`    // the marked rows alone
	Without Summary  `json:"without"` // the others
}

// PartitionBy summarises the rows together, those of which holds is true, and the
// others. Planned counts the trials of each part, since a plan does not know it.
func PartitionBy(rows iter.Seq[Row], holds func(Row) bool, opts Options) Partition {
	part := opts
	part.Planned = 0
	all, with, out := New(opts), New(part), New(part)
	var p Partition
	for r := range rows {
		p.Rows++
		all.Add(r)
		if holds(r) {
			p.Marked++
			with.Add(r)
		} else {
			out.Add(r)
		}
	}
	if p.Rows > 0 {
		p.Share = percent(float64(p.Marked) / float64(p.Rows))
	}
	p.All, p.With, p.Without = all.Summary(), with.Summary(), out.Summary()
	return p
}
