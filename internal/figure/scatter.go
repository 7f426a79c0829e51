package figure

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
)

// Rate is a percentage with its interval, which is left out where Lo and Hi are equal.
type Rate struct{ Value, Lo, Hi float64 }

// Point is a system in the plane.
type Point struct {
	Label string
	Group string // points of one group share a marker
	Check bool   // an instrument check: drawn hollow and grey
	HB    Rate   // utility, upwards
	CM    Rate   // safety, to the right
}

// Plane is the data of Figure 3a.
type Plane struct {
	Points []Point
	Quoted []Point // of the paper: small grey crosses without intervals
	Under  string  // suite, world, judge: what the figure stands on
}

// The frame of the plane. Markers at 0 and 100 need room beyond the axes.
const (
	planeSize  = 424.0 // of the square, for few points
	planeLeft  = 52.0
	planeRight = 20.0
	spill      = 2.5 // percent shown beyond 0 and 100
)

// size is the side of the square: many names need more room at the same size of text.
func (d *Plane) size() float64 {
	return planeSize + 7*float64(min(max(len(d.Points)+len(d.Quoted)/2-10, 0), 30))
}

// Sizes of text.
const (
	titleSize  = 11.0
	axisSize   = 9.0
	labelSize  = 8.0
	captionAt  = 7.5
	lineHeight = 1.25
)

// Scatter is Figure 3a: HB utility against CM safety.
func Scatter(d Plane) *Figure {
	d.clean()
	legend, size := d.legend(), d.size()
	width := planeLeft + size + planeRight
	caption := pen{size: captionAt, colour: muted}.fill(d.caption(), width-24)
	top := 26.0 + 15*float64(len(legend.rows(size)))
	foot := top + size + 44
	f := &Figure{
		title: "Figure 3a. HB utility against CM safety", about: d.about(),
		width: width, height: foot + float64(len(caption))*captionAt*lineHeight + 6,
	}
	frame := frame{planeLeft, top, size}
	names := d.names(frame)
	labels := d.lay(names, frame) // once, however often the figure is written
	f.paint = func(c *canvas) {
		c.text(12, 17, f.title, pen{size: titleSize, bold: true, colour: ink})
		legend.draw(c, planeLeft, 24, size)
		frame.draw(c)
		d.draw(c, frame)
		write(c, names, labels)
		for i, line := range caption {
			c.text(12, foot+float64(i)*captionAt*lineHeight, line, pen{size: captionAt, colour: muted})
		}
	}
	return f
}

func (d *Plane) clean() {
	d.Under = clean(d.Under)
	for _, set := range []*[]Point{&d.Points, &d.Quoted} {
		*set = slices.Clone(*set)
		for i := range *set {
			p := &(*set)[i]
			p.Label, p.Group = clean(p.Label), clean(p.Group)
		}
	}
}

func (d *Plane) caption() string {
	parts := []string{d.Under + "."}
	if len(d.Points) > 0 {
		parts = append(parts, "Thin bars: 95 % intervals.")
	}
	if slices.ContainsFunc(d.Points, func(p Point) bool { return p.Check }) {
		parts = append(parts, "Hollow and grey: instrument checks, which read the package.")
	}
	if len(d.Quoted) > 0 {
		parts = append(parts, "Grey ×: quoted from the paper: other families, world and judge; not to be compared with ours.")
	}
	return strings.TrimPrefix(strings.Join(parts, " "), ". ")
}

func (d *Plane) about() string {
	var b strings.Builder
	for _, p := range d.Points {
		fmt.Fprintf(&b, "%s: HB utility %.1f, CM safety %.1f. ", p.Label, p.HB.Value, p.CM.Value)
	}
	return strings.TrimSpace(b.String())
}

// frame is the square of the plane on the canvas.
type frame struct{ left, top, size float64 }

func (f frame) x(percent float64) float64 {
	return f.left + f.size*(percent+spill)/(100+2*spill)
}

func (f frame) y(percent float64) float64 {
	return f.top + f.size - f.size*(percent+spill)/(100+2*spill)
}

func (f frame) at(p Point) point { return point{f.x(p.CM.Value), f.y(p.HB.Value)} }

func (f frame) draw(c *canvas) {
	number := pen{size: labelSize, colour: muted}
	for tick := 0.0; tick <= 100; tick += 20 {
		c.line(rule, 0.5, point{f.x(tick), f.top}, point{f.x(tick), f.top + f.size})
		c.line(rule, 0.5, point{f.left, f.y(tick)}, point{f.left + f.size, f.y(tick)})
		text := fmt.Sprintf("%.0f", tick)
		c.text(f.x(tick), f.top+f.size+11, text, pen{size: labelSize, colour: muted, anchor: 0.5})
		c.text(f.left-5-number.width(text), f.y(tick)+3, text, number)
	}
	c.shape(muted, 0.6, point{f.left, f.top}, point{f.left + f.size, f.top}, point{f.left + f.size, f.top + f.size}, point{f.left, f.top + f.size})
	c.text(f.left+f.size/2, f.top+f.size+26, "CM safety, %: stops where it is not permitted  →", pen{size: axisSize, colour: ink, anchor: 0.5})
	c.upright(f.left-30, f.top+f.size/2, "HB utility, %: works where it only looks dangerous  →", pen{size: axisSize, colour: ink})
}

const markerRadius = 3.6

// draw sets intervals below markers.
func (d *Plane) draw(c *canvas, f frame) {
	styles := d.styles()
	for _, p := range d.Quoted {
		quotedMarker(c, f.at(p))
	}
	bars := d.bars(f)
	for i, pair := range bars {
		for _, bar := range pair {
			c.line(faint(styles[i].colour), 0.8, bar[0], bar[1])
		}
	}
	for i, p := range d.Points {
		styles[i].draw(c, f.at(p))
	}
}

// bars are the intervals of each point, across and up; one without length is left out.
func (d *Plane) bars(f frame) [][][2]point {
	out := make([][][2]point, len(d.Points))
	for i, p := range d.Points {
		for _, bar := range [][2]point{
			{{f.x(p.CM.Lo), f.y(p.HB.Value)}, {f.x(p.CM.Hi), f.y(p.HB.Value)}},
			{{f.x(p.CM.Value), f.y(p.HB.Lo)}, {f.x(p.CM.Value), f.y(p.HB.Hi)}},
		} {
			if bar[0] != bar[1] {
				out[i] = append(out[i], bar)
			}
		}
	}
	return out
}

// faint is a colour half way to white. (Transparency would add up where bars lie on
// each other.)
func faint(c color.RGBA) color.RGBA {
	half := func(v uint8) uint8 { return uint8((int(v) + 255) / 2) }
	return color.RGBA{half(c.R), half(c.G), half(c.B), 0xff}
}

const quotedRadius = 2.2

func quotedMarker(c *canvas, at point) {
	const r = quotedRadius
	c.line(muted, 0.7, point{at.x - r, at.y - r}, point{at.x + r, at.y + r})
	c.line(muted, 0.7, point{at.x - r, at.y + r}, point{at.x + r, at.y - r})
}

// named are the names of the points at one place.
type named struct {
	at     point
	lines  []string
	pen    pen
	radius float64
}

// names gathers the names of all points; points at one place share a label.
func (d *Plane) names(f frame) []named {
	var all []named
	add := func(p Point, text string, n named) {
		n.at, n.lines = f.at(p), []string{text}
		i := slices.IndexFunc(all, func(x named) bool { return distance(x.at, n.at) < 0.5 && x.pen == n.pen })
		if i < 0 {
			all = append(all, n)
			return
		}
		all[i].lines = append(all[i].lines, text)
	}
	texts := pen{size: labelSize}.shortenAll(labelsIn(d.Points), 150)
	for i := range d.Points {
		n := named{pen: pen{size: labelSize, colour: ink}, radius: markerRadius}
		if d.Points[i].Check {
			n.pen.colour = muted
		}
		add(d.Points[i], texts[i], n)
	}
	for _, p := range d.Quoted {
		n := named{pen: pen{size: 6.5, colour: muted}, radius: quotedRadius}
		add(p, n.pen.shorten(p.Label, 150), n)
	}
	return all
}

func labelsIn(points []Point) []string {
	out := make([]string, len(points))
	for i, p := range points {
		out[i] = p.Label
	}
	return out
}

// inside is where labels may stand.
func (f frame) inside() box { return box{f.left + 2, f.top + 2, f.size - 4, f.size - 4} }

func markersOf(all []named) []box {
	out := make([]box, len(all))
	for i, n := range all {
		out[i] = box{n.at.x - n.radius, n.at.y - n.radius, 2 * n.radius, 2 * n.radius}
	}
	return out
}

// lay finds a place for every name.
func (d *Plane) lay(all []named, f frame) []label {
	labels := make([]label, len(all))
	for i, n := range all {
		labels[i] = label{at: n.at, radius: n.radius, h: float64(len(n.lines)) * n.line()}
		for _, text := range n.lines {
			labels[i].w = max(labels[i].w, n.pen.width(text))
		}
	}
	place(labels, markersOf(all), slices.Concat(d.bars(f)...), f.inside())
	return labels
}

// write writes the labels, leaders below texts.
func write(c *canvas, all []named, labels []label) {
	for _, l := range labels {
		if l.leader {
			c.line(muted, 0.6, towards(l.at, l.tip(), l.radius+0.8), l.tip())
		}
	}
	for i, l := range labels {
		all[i].draw(c, l)
	}
}

func (n named) line() float64 { return n.pen.size * 1.15 }

// draw sets the lines flush with the side on which the marker is, on a veil that
// keeps intervals from striking them through.
func (n named) draw(c *canvas, l label) {
	x := l.box.x
	if l.box.x+l.box.w/2 < l.at.x {
		x, n.pen.anchor = l.box.x+l.box.w, 1
	}
	c.rect(l.box.x-1, l.box.y, l.box.w+2, l.box.h, veil)
	for k, text := range n.lines {
		c.text(x, l.box.y+float64(k)*n.line()+0.82*n.pen.size, text, n.pen)
	}
}

func towards(p, q point, by float64) point {
	d := distance(p, q)
	if d <= by {
		return q
	}
	return point{p.x + (q.x-p.x)*by/d, p.y + (q.y-p.y)*by/d}
}
