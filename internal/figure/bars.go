package figure

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
)

// Share is how the families of a system came out, as counts.
type Share struct {
	Label string
	Check bool // an instrument check

	Both, HBOnlyFailed, CMOnlyFailed, BothFailed int
}

func (s Share) counts() []int {
	return []int{s.Both, s.HBOnlyFailed, s.CMOnlyFailed, s.BothFailed}
}

func (s Share) total() int { return s.Both + s.HBOnlyFailed + s.CMOnlyFailed + s.BothFailed }

// outcomes are the parts of a bar, from the left. Each is lighter or darker than its
// neighbours, so that a grey print tells them apart.
var outcomes = []struct {
	name         string
	colour, text color.RGBA
}{
	{"both passed", blue, white},
	{"HB only failed", orange, black},
	{"CM only failed", vermillion, white},
	{"both failed", color.RGBA{0x4d, 0x4d, 0x4d, 0xff}, white},
}

// Text on a coloured part, whatever the page's theme.
var (
	white = color.RGBA{0xfe, 0xfe, 0xfe, 0xff}
	black = color.RGBA{0x10, 0x10, 0x10, 0xff}
)

const (
	barsWidth = 496.0
	barHeight = 13.0
	barPitch  = 18.0
)

// Bars is Figure 3b: the shares of families by outcome, a bar a system. Under says
// what the figure stands on. Systems without a family have an empty bar.
func Bars(shares []Share, under string) *Figure {
	shares = slices.Clone(shares)
	under = clean(under)
	name, count := pen{size: labelSize, colour: ink}, pen{size: 7, colour: muted}
	left, right := 40.0, 30.0
	for i, label := range name.shortenAll(labelsOf(shares), 150) {
		shares[i].Label = label
		left = max(left, 12+name.width(shares[i].Label)+7)
		right = max(right, 14+count.width(fmt.Sprintf("n = %d", shares[i].total())))
	}
	keys := outcomeLegend()
	top := 30 + 15*float64(len(keys.rows(barsWidth-24)))
	axis := top + barPitch*float64(len(shares))
	lines := pen{size: captionAt, colour: muted}.fill(barsCaption(shares, under), barsWidth-24)
	f := &Figure{
		title: "Figure 3b. Families by HB utility and CM safety, %", about: barsAbout(shares),
		width: barsWidth, height: axis + 32 + float64(len(lines))*captionAt*lineHeight,
	}
	f.paint = func(c *canvas) {
		c.text(12, 17, f.title, pen{size: titleSize, bold: true, colour: ink})
		keys.draw(c, 12, 24, barsWidth-24)
		b := barArea{left, barsWidth - right - left}
		b.axis(c, top-2, axis)
		for i, s := range shares {
			b.bar(c, top+barPitch*float64(i)+1, s)
		}
		for i, line := range lines {
			c.text(12, axis+32+float64(i)*captionAt*lineHeight, line, pen{size: captionAt, colour: muted})
		}
	}
	return f
}

func labelsOf(shares []Share) []string {
	out := make([]string, len(shares))
	for i, s := range shares {
		out[i] = clean(s.Label)
	}
	return out
}

func barsCaption(shares []Share, under string) string {
	s := under + ". n: families × repeats with a valid HB and a valid CM trial."
	if slices.ContainsFunc(shares, func(s Share) bool { return s.Check }) {
		s += " Grey names: instrument checks, which read the package."
	}
	return strings.TrimPrefix(s, ". ")
}

func barsAbout(shares []Share) string {
	var b strings.Builder
	for _, s := range shares {
		fmt.Fprintf(&b, "%s: of %d families", s.Label, s.total())
		for i, n := range s.counts() {
			fmt.Fprintf(&b, ", %d %s", n, outcomes[i].name)
		}
		b.WriteString(". ")
	}
	return strings.TrimSpace(b.String())
}

func outcomeLegend() legend {
	var l legend
	for _, o := range outcomes {
		l = append(l, key{o.name, func(c *canvas, at point) { c.rect(at.x-4, at.y-4, 8, 8, o.colour) }})
	}
	return l
}

// barArea is where the bars stand.
type barArea struct{ left, width float64 }

func (a barArea) x(percent float64) float64 { return a.left + a.width*percent/100 }

func (a barArea) axis(c *canvas, top, bottom float64) {
	for tick := 0.0; tick <= 100; tick += 20 {
		c.line(rule, 0.5, point{a.x(tick), top}, point{a.x(tick), bottom + 2})
		c.text(a.x(tick), bottom+12, fmt.Sprintf("%.0f", tick), pen{size: labelSize, colour: muted, anchor: 0.5})
	}
}

func (a barArea) bar(c *canvas, y float64, s Share) {
	name := pen{size: labelSize, colour: ink, anchor: 1}
	if s.Check {
		name.colour = muted
	}
	base := y + barHeight/2 + 2.8
	c.text(a.left-7, base, s.Label, name)
	c.text(a.x(100)+6, base, fmt.Sprintf("n = %d", s.total()), pen{size: 7, colour: muted})
	if s.total() == 0 {
		c.text(a.left+4, base, "no valid pair", pen{size: 7, colour: muted})
		return
	}
	from := 0.0
	for i, n := range s.counts() {
		share := 100 * float64(n) / float64(s.total())
		if n == 0 {
			continue
		}
		x, w := a.x(from), a.width*share/100
		c.rect(x, y, w, barHeight, outcomes[i].colour)
		if from > 0 {
			c.line(paper, 0.8, point{x, y}, point{x, y + barHeight})
		}
		text, inside := percentOf(n, s.total()), pen{size: 7, colour: outcomes[i].text, anchor: 0.5}
		if inside.width(text)+5 <= w {
			c.text(x+w/2, base-0.3, text, inside)
		}
		from += share
	}
}

// percentOf is a share with one decimal; one failure of many is not rounded away.
func percentOf(n, total int) string {
	s := fmt.Sprintf("%.1f", 100*float64(n)/float64(total))
	if s == "100.0" && n < total {
		return ">99.9"
	}
	return s
}
