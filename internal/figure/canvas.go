package figure

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a drawing of a fixed size. Lengths are in points, from the top left.
type Figure struct {
	title, about  string // for who cannot see it
	width, height float64
	paint         func(*canvas)
}

// dpi is twice what screens are taken for: a PNG of 96 dots an inch is small.
const dpi = 192

// WritePNG writes the figure on white.
func (f *Figure) WritePNG(w io.Writer) error {
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(f.width), vg.Length(f.height)), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(paper))
	f.paint(&canvas{vg: c, height: f.height})
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// WriteSVG writes the figure on white, as a document of its own.
func (f *Figure) WriteSVG(w io.Writer) error {
	_, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+f.svg(true))
	return err
}

// Inline is the figure as an element of a page: without a background, and its ink and
// greys are the CSS variables --figure-ink, --figure-muted, --figure-rule and
// --figure-paper where the page sets them.
func (f *Figure) Inline() string {
	s := f.svg(false)
	for _, c := range themed {
		s = strings.ReplaceAll(s, ":"+hex(c.colour), ":var(--figure-"+c.name+","+hex(c.colour)+")")
	}
	return s
}

// svg replaces the head that the library writes, which has neither a title nor a
// fallback for the font, and drops from each text what the head now says.
func (f *Figure) svg(background bool) string {
	c := vgsvg.New(vg.Length(f.width), vg.Length(f.height))
	drawn := &canvas{vg: c, height: f.height}
	if background {
		drawn.rect(0, 0, f.width, f.height, paper)
	}
	f.paint(drawn)
	var b bytes.Buffer
	_, _ = c.WriteTo(&b) // a buffer takes everything
	body := b.String()
	if _, drawing, ok := strings.Cut(body, "<g "); ok {
		body = "<g " + drawing
	}
	body = strings.ReplaceAll(body, "font-family:Liberation Sans;font-variant:normal;", "")
	body = strings.ReplaceAll(body, "font-weight:normal;font-style:normal;", "")
	body = strings.ReplaceAll(body, "font-style:normal;", "")
	body = strings.ReplaceAll(body, "\n\tstyle", " style")
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%gpt" height="%gpt" viewBox="0 0 %g %g" role="img" font-family="%s">`+
		"\n<title>%s</title>\n<desc>%s</desc>\n%s", f.width, f.height, f.width, f.height, families, html.EscapeString(f.title), html.EscapeString(f.about), body)
}

// families are the font that widths are measured in, and those like it.
const families = "'Liberation Sans', Arial, Helvetica, sans-serif"

// The greys, and what Inline calls them.
var (
	ink   = color.RGBA{0x1c, 0x1c, 0x1c, 0xff}
	muted = color.RGBA{0x5f, 0x5f, 0x5f, 0xff}
	rule  = color.RGBA{0xd9, 0xd9, 0xd9, 0xff}
	paper = color.RGBA{0xff, 0xff, 0xff, 0xff}
	veil  = color.NRGBA{0xff, 0xff, 0xff, 0xcc} // paper, in part

	themed = []struct {
		name   string
		colour color.RGBA
	}{{"ink", ink}, {"muted", muted}, {"rule", rule}, {"paper", paper}}
)

// Okabe and Ito's, but yellow, which is faint on white, and black, which is ink's.
var (
	blue       = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	vermillion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	green      = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	orange     = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	purple     = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	sky        = color.RGBA{0x56, 0xb4, 0xe9, 0xff}
)

func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// faces are the fonts; loading them once costs some milliseconds.
var faces = sync.OnceValue(func() *font.Cache {
	cache := font.NewCache(nil)
	for _, f := range []struct {
		weight xfont.Weight
		ttf    []byte
	}{{xfont.WeightNormal, liberationsansregular.TTF}, {xfont.WeightBold, liberationsansbold.TTF}} {
		face, err := opentype.Parse(f.ttf)
		if err != nil {
			panic("figure: " + err.Error()) // part of the program, and read by the tests
		}
		cache.Add(font.Collection{{Font: sans(0, f.weight), Face: face}})
	}
	return cache
})

func sans(size float64, weight xfont.Weight) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: font.Length(size)}
}

// pen is how text looks.
type pen struct {
	size   float64
	bold   bool
	colour color.Color
	anchor float64 // 0: the text starts there, ½: centred, 1: it ends there
}

func (p pen) face() font.Face {
	weight := xfont.WeightNormal
	if p.bold {
		weight = xfont.WeightBold
	}
	return faces().Lookup(sans(0, weight), font.Length(p.size))
}

func (p pen) width(s string) float64 {
	f := p.face()
	return f.Width(s).Points()
}

// shorten leaves out the middle of what is wider than room.
func (p pen) shorten(s string, room float64) string {
	r := []rune(s)
	for keep := len(r) - 1; p.width(s) > room && keep >= 2; keep-- {
		s = string(r[:(keep+1)/2]) + "…" + string(r[len(r)-keep/2:])
	}
	return s
}

// shortenAll shortens names of systems, AGENT or AGENT + INTERVENTION, to a room: of a long
// one the agent goes first, to a third of the room, since the intervention is what two names
// mostly differ in. Names that would then read alike get more room.
func (p pen) shortenAll(names []string, room float64) []string {
	out := make([]string, len(names))
	for i, name := range names {
		for wider := room; ; wider += room / 4 {
			out[i] = p.shortenName(name, wider)
			if out[i] == name || !slices.ContainsFunc(names, func(other string) bool { return other != name && p.shortenName(other, wider) == out[i] }) {
				break
			}
		}
	}
	return out
}

func (p pen) shortenName(name string, room float64) string {
	const plus = " + "
	at := strings.LastIndex(name, plus)
	if at < 0 || p.width(name) <= room {
		return p.shorten(name, room)
	}
	agent, intervention := name[:at], name[at:]
	agent = p.shorten(agent, max(room/3, room-p.width(intervention)))
	return agent + plus + p.shorten(intervention[len(plus):], room-p.width(agent+plus))
}

// fill breaks prose into lines of at most width.
func (p pen) fill(s string, width float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && p.width(longer) > width {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// clean keeps out what XML has no place for.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// canvas draws from the top left; vg measures from the bottom.
type canvas struct {
	vg     vg.Canvas
	height float64
}

func (c *canvas) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(c.height - y)}
}

// text writes one line with its baseline at y.
func (c *canvas) text(x, y float64, s string, p pen) {
	c.vg.SetColor(p.colour)
	c.vg.FillString(p.face(), c.at(x-p.anchor*p.width(s), y), s)
}

// upright writes a line that is read from below, centred at y.
func (c *canvas) upright(x, y float64, s string, p pen) {
	c.vg.Push()
	c.vg.SetColor(p.colour)
	c.vg.Translate(c.at(x, y))
	c.vg.Rotate(math.Pi / 2)
	c.vg.FillString(p.face(), vg.Point{X: vg.Length(-p.width(s) / 2)}, s)
	c.vg.Pop()
}

func (c *canvas) rect(x, y, w, h float64, colour color.Color) {
	c.shape(colour, 0, point{x, y}, point{x + w, y}, point{x + w, y + h}, point{x, y + h})
}

func (c *canvas) line(colour color.Color, width float64, ps ...point) {
	c.vg.SetColor(colour)
	c.vg.SetLineWidth(vg.Length(width))
	c.vg.Stroke(c.path(ps))
}

// shape fills a polygon or, where width is not 0, draws its outline.
func (c *canvas) shape(colour color.Color, width float64, ps ...point) {
	path := c.path(ps)
	path.Close()
	c.finish(path, colour, width)
}

func (c *canvas) circle(colour color.Color, width float64, at point, radius float64) {
	var path vg.Path
	path.Move(c.at(at.x+radius, at.y))
	path.Arc(c.at(at.x, at.y), vg.Length(radius), 0, 2*math.Pi)
	path.Close()
	c.finish(path, colour, width)
}

func (c *canvas) finish(path vg.Path, colour color.Color, width float64) {
	c.vg.SetColor(colour)
	if width == 0 {
		c.vg.Fill(path)
		return
	}
	c.vg.SetLineWidth(vg.Length(width))
	c.vg.Stroke(path)
}

func (c *canvas) path(ps []point) vg.Path {
	var path vg.Path
	path.Move(c.at(ps[0].x, ps[0].y))
	for _, p := range ps[1:] {
		path.Line(c.at(p.x, p.y))
	}
	return path
}

// point is a place on a canvas.
type point struct{ x, y float64 }

// box is a rectangle.
type box struct{ x, y, w, h float64 }

func (b box) grown(by float64) box { return box{b.x - by, b.y - by, b.w + 2*by, b.h + 2*by} }

// overlap is the area that two boxes share.
func (b box) overlap(o box) float64 {
	w := min(b.x+b.w, o.x+o.w) - max(b.x, o.x)
	h := min(b.y+b.h, o.y+o.h) - max(b.y, o.y)
	return max(w, 0) * max(h, 0)
}

// nearest is the place of a box that is nearest to p.
func (b box) nearest(p point) point {
	return point{min(max(p.x, b.x), b.x+b.w), min(max(p.y, b.y), b.y+b.h)}
}

// meets reports whether a line touches the box (Liang and Barsky's clipping, 1984).
func (b box) meets(p, q point) bool {
	enter, leave := 0.0, 1.0
	dx, dy := q.x-p.x, q.y-p.y
	for _, side := range [][2]float64{{-dx, p.x - b.x}, {dx, b.x + b.w - p.x}, {-dy, p.y - b.y}, {dy, b.y + b.h - p.y}} {
		switch d, room := side[0], side[1]; {
		case d == 0 && room < 0:
			return false
		case d < 0:
			enter = max(enter, room/d)
		case d > 0:
			leave = min(leave, room/d)
		}
	}
	return enter <= leave
}

// cross reports whether two lines cross.
func cross(a, b, c, d point) bool {
	side := func(p, q, r point) float64 { return (q.x-p.x)*(r.y-p.y) - (q.y-p.y)*(r.x-p.x) }
	return side(a, b, c)*side(a, b, d) < 0 && side(c, d, a)*side(c, d, b) < 0
}
