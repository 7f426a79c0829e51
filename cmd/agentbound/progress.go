package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/price"
)

// progress shows how a run goes, on stderr: a bar on a terminal, else a plain line
// now and then.
type progress struct {
	w       io.Writer
	name    string
	of      string // what is counted
	began   time.Time
	last    time.Time
	bars    *mpb.Progress
	bar     *mpb.Bar
	mu      sync.Mutex // held while something is written
	told    int        // faults that were told
	printed string     // the last plain line
	current run.Progress
	price   price.Price // of the agent's model; zero: not known
}

// lineEvery is the pause between plain lines.
const lineEvery = 5 * time.Second

func newProgress(w io.Writer, name string) *progress {
	now := time.Now()
	return &progress{w: w, name: name, of: "trials", began: now, last: now}
}

// observe is called one call at a time.
func (p *progress) observe(s run.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = s
	if terminal(p.w) {
		p.draw(s)
	}
	p.faults(s)
	if p.bars != nil {
		return
	}
	if now := time.Now(); now.Sub(p.last) >= lineEvery {
		p.last = now
		p.printed = p.line(s)
		fmt.Fprintln(p.w, p.printed)
	}
}

func (p *progress) draw(s run.Progress) {
	if p.bar == nil {
		p.bars = mpb.New(mpb.WithOutput(p.w), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(int64(s.Planned),
			mpb.PrependDecorators(decor.Name(p.name+"  ")),
			mpb.AppendDecorators(decor.CountersNoUnit("%d/%d  "), decor.Any(func(decor.Statistics) string { return p.rate(p.current) })))
	}
	p.bar.SetCurrent(int64(s.Done()))
}

// close takes the bar away.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
		p.bar, p.bars = nil, nil
	}
}

// say prints a line of its own at once. It may be called by several goroutines.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out(), plainLine(clipped(line)))
}

// out is where lines go: above the bar, where there is one.
func (p *progress) out() io.Writer {
	if p.bars != nil {
		return p.bars
	}
	return p.w
}

// finish says how the run ended.
func (p *progress) finish(s run.Progress, err error) {
	p.close()
	defer p.faults(s)
	switch {
	case err != nil:
		fmt.Fprintf(p.w, "%s: stopped at %d of %d %s\n", p.name, s.Done(), s.Planned, p.of)
	case s.Made == 0:
		fmt.Fprintf(p.w, "%s: complete, all %d %s were there already\n", p.name, s.Planned, p.of)
	default:
		if line := p.line(s); line != p.printed { // the last trial may just have told it
			fmt.Fprintln(p.w, line)
		}
	}
}

// faults says why trials are unscored, each reason once, as soon as it is known.
func (p *progress) faults(s run.Progress) {
	for ; p.told < len(s.Faults); p.told++ {
		fmt.Fprintf(p.out(), "%s: unscored: %s\n", p.name, clipped(s.Faults[p.told]))
	}
}

// clipped bounds what a fault may print: its program's last words can be long.
func clipped(s string) string {
	const most = 1000
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func (p *progress) line(s run.Progress) string {
	return fmt.Sprintf("%s: %d of %d %s, %s", p.name, s.Done(), s.Planned, p.of, p.rate(s))
}

// rate gives speed, time left, cost and unscored trials.
func (p *progress) rate(s run.Progress) string {
	text := ""
	if took := time.Since(p.began).Seconds(); took > 0 && s.Made > 0 {
		perSecond := float64(s.Made) / took
		text = fmt.Sprintf("%.0f/s", perSecond)
		if left := s.Planned - s.Done(); left > 0 {
			text += fmt.Sprintf(", %s left", (time.Duration(float64(left)/perSecond) * time.Second).Round(time.Second))
		}
	}
	usd := s.Usage.USD
	if usd == 0 {
		usd = p.price.Sum(model.Usage{Input: s.Usage.InputTokens, Cached: s.Usage.CachedTokens, Output: s.Usage.OutputTokens})
	}
	if usd > 0 {
		text += fmt.Sprintf(", $%.2f", usd)
	}
	if s.Unscored > 0 {
		text += fmt.Sprintf(", %d unscored", s.Unscored)
	}
	return text
}
