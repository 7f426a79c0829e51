package figure

import (
	"image/color"
	"slices"
)

// marker is how the points of a group look.
type marker struct {
	colour color.RGBA
	hollow bool
	shape  int
}

// palette gives each group a colour and a shape of its own; after the last it starts
// again with the next shape.
var palette = []color.RGBA{blue, vermillion, green, purple, orange, sky}

const shapes = 5

func (m marker) draw(c *canvas, at point) {
	outline := 0.0
	if m.hollow {
		outline = 1.1
	}
	r := markerRadius
	corner := func(dx, dy float64) point { return point{at.x + dx*r, at.y + dy*r} }
	draw := func(colour color.Color, width float64, grow float64) {
		r = markerRadius + grow
		switch m.shape {
		case 0:
			c.circle(colour, width, at, r)
		case 1:
			c.shape(colour, width, corner(-0.9, -0.9), corner(0.9, -0.9), corner(0.9, 0.9), corner(-0.9, 0.9))
		case 2:
			c.shape(colour, width, corner(0, -1.2), corner(1.1, 0.8), corner(-1.1, 0.8))
		case 3:
			c.shape(colour, width, corner(0, -1.3), corner(1.3, 0), corner(0, 1.3), corner(-1.3, 0))
		default:
			c.shape(colour, width, corner(0, 1.2), corner(1.1, -0.8), corner(-1.1, -0.8))
		}
	}
	draw(paper, 0, 0.9) // sets markers off that lie on each other
	draw(m.colour, outline, 0)
}

// groups are those of the points that are no checks, in order of appearance.
func (d *Plane) groups() []string {
	var out []string
	for _, p := range d.Points {
		if !p.Check && !slices.Contains(out, p.Group) {
			out = append(out, p.Group)
		}
	}
	return out
}

func groupMarker(i int) marker {
	return marker{colour: palette[i%len(palette)], shape: (i + i/len(palette)) % shapes}
}

var checkMarker = marker{colour: color.RGBA{0x8a, 0x8a, 0x8a, 0xff}, hollow: true}

// styles are the markers of the points.
func (d *Plane) styles() []marker {
	groups := d.groups()
	out := make([]marker, len(d.Points))
	for i, p := range d.Points {
		out[i] = checkMarker
		if !p.Check {
			out[i] = groupMarker(slices.Index(groups, p.Group))
		}
	}
	return out
}

// legend is a list of keys that fills rows.
type legend []key

type key struct {
	text string
	draw func(c *canvas, at point)
}

// legend names the groups where there is more than one thing to tell apart.
func (d *Plane) legend() legend {
	var out legend
	for i, g := range d.groups() {
		out = append(out, key{g, groupMarker(i).draw})
	}
	if slices.ContainsFunc(d.Points, func(p Point) bool { return p.Check }) {
		out = append(out, key{"instrument check", checkMarker.draw})
	}
	if len(d.Quoted) > 0 {
		out = append(out, key{"quoted: other families, world and judge", quotedMarker})
	}
	if len(out) < 2 && len(d.Quoted) == 0 {
		return nil
	}
	return out
}

var legendPen = pen{size: labelSize, colour: ink}

func (k key) width() float64 { return 12 + legendPen.width(k.text) + 16 }

// rows breaks the legend so that it fits a width.
func (l legend) rows(width float64) []legend {
	var rows []legend
	used := 0.0
	for _, k := range l {
		if len(rows) == 0 || used+k.width()-16 > width {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		used += k.width()
	}
	return rows
}

func (l legend) draw(c *canvas, x, y, width float64) {
	for i, row := range l.rows(width) {
		at := point{x + 4, y + 15*float64(i) + 7}
		for _, k := range row {
			k.draw(c, at)
			c.text(at.x+8, at.y+2.9, k.text, legendPen)
			at.x += k.width()
		}
	}
}
