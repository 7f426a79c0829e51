package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/figure"
	"github.com/agentbound/agentbound/metric"
)

// Figure3a is HB utility against CM safety: the runs that have a valid trial of both
// and, where the report quotes the paper, its points.
func (r *Report) Figure3a() *figure.Figure {
	d := figure.Plane{Under: r.standing()}
	names := r.distinctLabels()
	left := 0
	for i := range r.Runs {
		run := &r.Runs[i]
		hb, cm := run.Measures[metric.HBUtility], run.Measures[metric.CMSafety]
		if hb.Value == nil || cm.Value == nil {
			left++
			continue
		}
		d.Points = append(d.Points, figure.Point{Label: names[i], Group: r.group(run), Check: run.Privileged, HB: rateOf(hb), CM: rateOf(cm)})
	}
	if left > 0 {
		d.Under += fmt.Sprintf("; %d without a valid trial of HB and CM", left)
	}
	if r.Paper != nil {
		d.Quoted = r.Paper.points()
	}
	return figure.Scatter(d)
}

// Figure3b is the shares of families by outcome.
func (r *Report) Figure3b() *figure.Figure {
	var shares []figure.Share
	names := r.distinctLabels()
	for i := range r.Runs {
		f := r.Runs[i].Families
		shares = append(shares, figure.Share{
			Label: names[i], Check: r.Runs[i].Privileged,
			Both: f.Both, HBOnlyFailed: f.HBOnlyFailed, CMOnlyFailed: f.CMOnlyFailed, BothFailed: f.BothFailed,
		})
	}
	return figure.Bars(shares, r.standing())
}

// WriteFigures writes both figures as SVG and PNG into a folder, which it makes where
// there is none, and gives their paths.
func (r *Report) WriteFigures(dir string) (paths []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name   string
		figure *figure.Figure
	}{{"figure-3a", r.Figure3a()}, {"figure-3b", r.Figure3b()}} {
		for _, form := range []struct {
			suffix string
			write  func(io.Writer) error
		}{{".svg", f.figure.WriteSVG}, {".png", f.figure.WritePNG}} {
			path := filepath.Join(dir, f.name+form.suffix)
			if err := WriteFile(path, form.write); err != nil {
				return paths, err
			}
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// WriteFile writes a file whole or not at all: what a reader had open, or a failure
// half way, leaves the old one.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = write(f); err == nil {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// standing names the suites, worlds and judges that figures stand on.
func (r *Report) standing() string { return strings.Join(settingsOf(r.Runs), "; ") }

// distinctLabels names each run; where two have one name, their ids follow.
func (r *Report) distinctLabels() []string {
	names := make([]string, len(r.Runs))
	for i := range r.Runs {
		names[i] = r.Runs[i].label()
	}
	return names
}

// group is what Figure 3a tells apart by marker: interventions where there are
// several, else kinds of agent.
func (r *Report) group(run *Run) string {
	if slices.ContainsFunc(r.Runs, func(x Run) bool { return x.Intervention != agentbound.Bare }) {
		return run.named.column
	}
	return run.plan.Agent.Kind
}

func rateOf(e metric.Estimate) figure.Rate {
	out := figure.Rate{Value: *e.Value, Lo: *e.Value, Hi: *e.Value}
	if e.CI95 != nil {
		out.Lo, out.Hi = e.CI95[0], e.CI95[1]
	}
	return out
}

// points are the paper's rows that have both figures.
func (p *Paper) points() []figure.Point {
	hb, cm := slices.Index(p.Columns, string(metric.HBUtility))-2, slices.Index(p.Columns, string(metric.CMSafety))-2
	var out []figure.Point
	for _, row := range p.Rows {
		if row.Values[hb] != nil && row.Values[cm] != nil {
			out = append(out, figure.Point{Label: row.Config, HB: figure.Rate{Value: *row.Values[hb]}, CM: figure.Rate{Value: *row.Values[cm]}})
		}
	}
	return out
}
