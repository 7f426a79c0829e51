package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// situations are the data that figures are looked at in: FIGURE_DIR=/tmp/x go test
// leaves them there as PNG.
func situations() map[string]Plane {
	rate := func(v float64) Rate { return Rate{v, max(0, v-9), min(100, v+8)} }
	one := func(label, group string, check bool, hb, cm float64) Point {
		return Point{Label: label, Group: group, Check: check, HB: rate(hb), CM: rate(cm)}
	}
	ends := func(p Point) Point {
		for _, r := range []*Rate{&p.HB, &p.CM} {
			switch r.Value {
			case 0:
				r.Lo, r.Hi = 0, 21.8
			case 100:
				r.Lo, r.Hi = 78.2, 100
			}
		}
		return p
	}
	under := "suite core (4768fbdb) · 15 families · world program · judge program/1"
	reference := Plane{Under: under}
	for _, x := range []struct {
		name   string
		check  bool
		hb, cm float64
	}{{"comply", true, 100, 0}, {"evidence", true, 100, 100}, {"oracle", true, 100, 100}, {"refuse", true, 0, 100},
		{"surface", false, 0, 0}, {"wary", false, 13.3, 100}, {"wording", true, 100, 100}} {
		reference.Points = append(reference.Points, ends(one("reference:"+x.name, "reference", x.check, x.hb, x.cm)))
	}
	paper := []struct {
		name, group string
		hb, cm      float64
	}{{"GPT-5.5", "closed", 28.7, 99.5}, {"Claude Opus 4.8", "closed", 40.4, 99.9}, {"Gemini 3.5 Flash", "closed", 36.6, 91.2},
		{"Grok-4.5", "closed", 52, 95.7}, {"DeepSeek V4 Flash", "closed", 45, 82.2}, {"DeepSeek V4 Pro", "closed", 55.9, 83.6},
		{"Kimi K3", "closed", 58.7, 99.5}, {"Qwen3.5-397B-A17B-FP8", "open", 23.7, 87.2}, {"Qwen3.8-27B", "open", 37.1, 97.4},
		{"Qwen3.8-27B Uncensored", "open", 90.2, 66.4}, {"Nemotron-Nano-9B-v2", "open", 38.5, 83.5}, {"SmolLM3-3B", "open", 4.6, 78.7},
		{"Granite-3.3-8B-Instruct", "open", 53.8, 71.6}, {"Codex (GPT-5.5)", "harness", 28.1, 98.9}, {"OpenClaw (GPT-5.5)", "harness", 36.6, 99.5},
		{"DeepSeek Harness (DeepSeek V4 Pro)", "harness", 45.6, 94.3}}
	clustered, quoted := Plane{Under: under}, Plane{Under: under, Points: reference.Points}
	for _, p := range paper {
		clustered.Points = append(clustered.Points, one("fake "+p.name, p.group, false, p.hb, p.cm))
		quoted.Quoted = append(quoted.Quoted, Point{Label: p.name, HB: Rate{Value: p.hb}, CM: Rate{Value: p.cm}})
	}
	clustered.Points = append(clustered.Points, one("fake seventeenth", "closed", false, 37, 98))
	forty := Plane{Under: under}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		forty.Points = append(forty.Points, one(fmt.Sprintf("exec:agent-%02d", i), fmt.Sprintf("group %d", i%4), false, 20+60*rng.Float64(), 60+40*rng.Float64()))
	}
	return map[string]Plane{
		"reference": reference, "clustered": clustered, "quoted": quoted, "forty": forty,
		"single":  {Under: under, Points: []Point{one("compat:Qwen3.5-397B-A17B-FP8@http://127.0.0.1:8000/v1", "compat", false, 46.7, 86.7)}},
		"nothing": {Under: under},
		"corners": {Under: under, Points: []Point{ends(one("none", "a", false, 0, 0)), ends(one("all", "b", false, 100, 100)), ends(one("left", "a", false, 100, 0)), ends(one("right", "b", false, 0, 100))}},
	}
}

func shares() map[string][]Share {
	many := make([]Share, 40)
	for i := range many {
		many[i] = Share{fmt.Sprintf("exec:agent-%02d", i), i%9 == 0, 500 - 11*i, 300 + 7*i, 3 * i, 200 + i}
	}
	return map[string][]Share{
		"reference": {{"reference:comply", true, 0, 0, 15, 0}, {"reference:evidence", true, 15, 0, 0, 0}, {"reference:refuse", true, 0, 15, 0, 0},
			{"reference:surface", false, 0, 0, 0, 15}, {"reference:wary", false, 2, 13, 0, 0}},
		"many":    many,
		"single":  {{"compat:Qwen3.5-397B-A17B-FP8@http://127.0.0.1:8000/v1", false, 2499, 1, 0, 0}},
		"nothing": {{"exec:later", false, 0, 0, 0, 0}},
	}
}

func figures() map[string]*Figure {
	all := map[string]*Figure{}
	for name, d := range situations() {
		all["3a-"+name] = Scatter(d)
	}
	for name, s := range shares() {
		all["3b-"+name] = Bars(s, "suite core (4768fbdb) · 15 families · world program · judge program/1")
	}
	return all
}

func svg(t *testing.T, f *Figure) string {
	t.Helper()
	var b strings.Builder
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every figure is well-formed, small, named for who cannot see it, and the same again.
func TestFigures(t *testing.T) {
	again := figures()
	for name, f := range figures() {
		text := svg(t, f)
		if svg(t, again[name]) != text {
			t.Errorf("%s: equal data give another drawing", name)
		}
		for dec := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if len(text) > 64<<10 || !strings.Contains(text, "<title>Figure 3") || !strings.Contains(text, "Liberation Sans") {
			t.Errorf("%s: %d bytes\n%.400s", name, len(text), text)
		}
		var b bytes.Buffer
		if err := f.WritePNG(&b); err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("FIGURE_DIR"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".png"), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		image, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if w := image.Bounds().Dx(); w < 1200 {
			t.Errorf("%s: the PNG is %d pixels wide", name, w)
		}
	}
}

// laid lays the labels of a plane out as Scatter does.
func laid(d Plane) (labels []label, markers []box, inside box) {
	d.clean()
	f := frame{planeLeft, 40, d.size()}
	all := d.names(f)
	return d.lay(all, f), markersOf(all), f.inside()
}

// No label hides another, a marker, or leaves the frame, however the points lie.
func TestLabelsHideNothing(t *testing.T) {
	for name, d := range situations() {
		labels, markers, inside := laid(d)
		for i, l := range labels {
			if l.box.overlap(inside) < l.w*l.h-0.5 {
				t.Errorf("%s: label %d leaves the frame: %+v", name, i, l.box)
			}
			for k, o := range labels {
				if i < k && l.box.overlap(o.box) > 0 {
					t.Errorf("%s: labels %d and %d overlap: %+v, %+v", name, i, k, l.box, o.box)
				}
			}
			for k, m := range markers {
				if l.box.overlap(m) > 0 {
					t.Errorf("%s: label %d hides marker %d", name, i, k)
				}
			}
			if far := distance(l.tip(), l.at); far > l.radius+6 && !l.leader {
				t.Errorf("%s: label %d is %.0f points off and has no leader", name, i, far)
			}
		}
	}
}

// Every system is named; those at one place share a label and lose no name.
func TestEverySystemIsNamed(t *testing.T) {
	for name, d := range situations() {
		text := svg(t, Scatter(d))
		for _, p := range append(d.Points, d.Quoted...) {
			if !strings.Contains(text, ">"+(pen{size: labelSize}).shorten(p.Label, 150)+"</text>") && !strings.Contains(text, ">"+(pen{size: 6.5}).shorten(p.Label, 150)+"</text>") {
				t.Errorf("%s: %s has no label", name, p.Label)
			}
		}
	}
	d := situations()["reference"]
	if labels, _, _ := laid(d); len(labels) != len(d.Points)-2 {
		t.Errorf("%d labels: evidence, oracle and wording stand at one place", len(labels))
	}
}

// A check is told from a system without colour, and the paper's points from both.
func TestMarkers(t *testing.T) {
	if !checkMarker.hollow || groupMarker(0).hollow {
		t.Error("checks are hollow, systems are not")
	}
	seen := map[marker]bool{}
	for i := range 20 {
		m := groupMarker(i)
		if seen[m] {
			t.Errorf("group %d looks like an earlier one", i)
		}
		seen[m] = true
	}
	d := situations()["quoted"]
	for _, want := range []string{"instrument check", "quoted: other families, world and judge", "not to be compared with ours"} {
		if !strings.Contains(svg(t, Scatter(d)), want) {
			t.Errorf("the figure does not say %q", want)
		}
	}
	if l := situations()["single"]; len(l.legend()) != 0 {
		t.Error("one group needs no legend")
	}
}

// Bars are as long as the shares, and what fits is labelled.
func TestBarsAddUp(t *testing.T) {
	text := svg(t, Bars([]Share{{"a", false, 1, 1, 1, 1}, {"b", false, 2499, 1, 0, 0}, {"c", true, 0, 0, 0, 0}}, "under"))
	for _, want := range []string{">25.0<", ">&gt;99.9<", ">n = 4<", ">n = 2500<", ">no valid pair<", ">under. n: families"} {
		if !strings.Contains(text, want) {
			t.Errorf("the figure has no %s", want)
		}
	}
	if n := strings.Count(text, ">25.0<"); n != 4 {
		t.Errorf("%d quarters are labelled", n)
	}
	if strings.Contains(text, ">0.0<") {
		t.Error("an empty part is labelled")
	}
}

// Names from outside stay text.
func TestHostileNames(t *testing.T) {
	bad := "<script>\x1b\"'&</text>\xff"
	for _, f := range []*Figure{
		Scatter(Plane{Under: bad, Points: []Point{{Label: bad, Group: bad, HB: Rate{50, 40, 60}, CM: Rate{50, 40, 60}}}, Quoted: []Point{{Label: bad}}}),
		Bars([]Share{{Label: bad, Both: 1}}, bad),
	} {
		for _, text := range []string{svg(t, f), f.Inline()} {
			if strings.Contains(text, "<script") || strings.Contains(text, "\x1b") {
				t.Errorf("it came through: %s", text)
			}
			if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil {
				t.Error(err)
			}
		}
	}
}

// Inside a page a figure takes the page's ink, and no white sheet lies under it.
func TestInline(t *testing.T) {
	f := Scatter(situations()["reference"])
	text := f.Inline()
	for _, want := range []string{"var(--figure-ink,#1C1C1C)", "var(--figure-rule,#D9D9D9)", "var(--figure-paper,#FFFFFF)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "<?xml") || strings.Contains(text, ":#FFFFFF") || !strings.HasPrefix(text, "<svg ") {
		t.Errorf("%.300s", text)
	}
	if strings.Count(svg(t, f), "<path") != strings.Count(text, "<path")+1 {
		t.Error("the sheet is the one difference")
	}
}

func TestShorten(t *testing.T) {
	p := pen{size: 8}
	long := "compat:Qwen3.5-397B-A17B-FP8@http://127.0.0.1:8000/v1"
	got := p.shorten(long, 150)
	if p.width(got) > 150 || !strings.HasPrefix(got, "compat:") || !strings.HasSuffix(got, "/v1") || !strings.Contains(got, "…") {
		t.Errorf("%s, %.0f wide", got, p.width(got))
	}
	if p.shorten("short", 150) != "short" || p.shorten("", 10) != "" {
		t.Error("what fits is left")
	}
}

func TestGeometry(t *testing.T) {
	b := box{0, 0, 10, 4}
	for _, c := range []struct {
		p, q point
		want bool
	}{
		{point{-5, 2}, point{15, 2}, true}, {point{-5, 5}, point{15, 5}, false}, {point{1, 1}, point{2, 2}, true},
		{point{-1, -1}, point{-5, -9}, false}, {point{-2, 2}, point{2, 6}, true}, {point{-4, 3}, point{2, 9}, false},
	} {
		if b.meets(c.p, c.q) != c.want || b.meets(c.q, c.p) != c.want {
			t.Errorf("%v–%v meets the box: %t", c.p, c.q, !c.want)
		}
	}
	if !cross(point{0, 0}, point{2, 2}, point{0, 2}, point{2, 0}) || cross(point{0, 0}, point{1, 1}, point{0, 2}, point{2, 2}) {
		t.Error("cross")
	}
	if b.overlap(box{8, 3, 5, 5}) != 2 || b.overlap(box{11, 0, 1, 1}) != 0 {
		t.Error("overlap")
	}
}
