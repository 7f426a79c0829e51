package figure

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// label is text that wants to stand by a place. Its lines are set one below the other.
type label struct {
	at     point
	radius float64 // of the marker
	w, h   float64

	box    box
	leader bool // a line leads from the marker to the box
}

// place puts labels where they hide nothing: no other label, no marker, and as few
// lines as may be. Each label tries places around its marker, near ones first, and
// takes the cheapest while the others stay; that is repeated until nothing moves. It
// is the discrete descent of Christensen, Marks and Shieber (ACM Transactions on
// Graphics 14 (1995) 203–232), begun from several orders, always the same ones, of
// which the cheapest result is kept.
func place(labels []label, markers []box, lines [][2]point, inside box) {
	const rounds = 8
	starts := 24
	if len(labels) > 25 { // many labels take long, and none is long off its marker
		starts = 6
	}
	rng := rand.New(rand.NewPCG(1, 1))
	p := placing{labels, markers, lines, inside}
	order := p.crowded()
	best, cheapest := []label(nil), math.Inf(1)
	for range starts {
		for i := range labels {
			labels[i].box, labels[i].leader = box{}, false
		}
		for range rounds {
			if !p.descend(order) {
				break
			}
		}
		cost := 0.0
		for i := range labels {
			cost += p.cost(i, labels[i], math.Inf(1))
		}
		if cost < cheapest {
			best, cheapest = slices.Clone(labels), cost
		}
		order = rng.Perm(len(labels))
	}
	copy(labels, best)
}

// placing is a set of labels and what stands in their way.
type placing struct {
	labels  []label
	markers []box // of the labels, in their order
	lines   [][2]point
	inside  box
}

// descend moves each label in turn to its cheapest place, and reports whether any moved.
func (p placing) descend(order []int) bool {
	moved := false
	for _, i := range order {
		best, cost := p.labels[i], math.Inf(1)
		for _, candidate := range p.labels[i].candidates() {
			if k := p.cost(i, candidate, cost); k < cost {
				best, cost = candidate, k
			}
		}
		moved = moved || best.box != p.labels[i].box
		p.labels[i] = best
	}
	return moved
}

// crowded orders labels so that those with the closest neighbours choose first.
func (p placing) crowded() []int {
	near := make([]float64, len(p.labels))
	order := make([]int, len(p.labels))
	for i := range p.labels {
		order[i] = i
		for k := range p.labels {
			if i != k {
				near[i] -= 1 / (1 + distance(p.labels[i].at, p.labels[k].at))
			}
		}
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(near[i], near[k]) })
	return order
}

func distance(p, q point) float64 { return math.Hypot(p.x-q.x, p.y-q.y) }

// candidates are the places to try: beside, above and below the marker, and then
// further off all around.
func (l label) candidates() []label {
	var out []label
	for _, gap := range []float64{2.5, 5, 9, 14, 20, 28, 38, 50, 64, 80, 100, 125, 155} {
		for turn := range 24 {
			a := 2 * math.Pi * float64(turn) / 24
			dx, dy := math.Cos(a), math.Sin(a)
			r := l.radius + gap
			c := l
			c.box = box{l.at.x + r*dx + (dx-1)*l.w/2, l.at.y + r*dy + (dy-1)*l.h/2, l.w, l.h}
			c.leader = distance(c.tip(), l.at) > l.radius+6
			out = append(out, c)
		}
	}
	return out
}

// tip is where a leader meets the label.
func (l label) tip() point { return l.box.nearest(l.at) }

// What a place costs, against a distance of one point.
const (
	costOutside = 5000.0
	costHidden  = 1000.0 // a label or marker under the label, and by the area
	costOver    = 150.0  // a leader over a label or marker
	costCrossed = 120.0  // a leader over another
	costLine    = 6.0    // an interval under the label
	costLeader  = 8.0    // that there is one
	costAlong   = 30.0   // a leader that could be taken for an interval
	costUnclear = 25.0   // a label without a leader that stands nearer to another marker
)

// cost is what it costs to put label self at the place l while the others stay, or
// something above limit as soon as that is certain.
func (p placing) cost(self int, l label, limit float64) float64 {
	tip := l.tip()
	cost := distance(tip, l.at)
	if l.leader {
		cost += costLeader
		if min(math.Abs(tip.x-l.at.x), math.Abs(tip.y-l.at.y)) < 3 {
			cost += costAlong
		}
	}
	// One looks to the right first, then to the left, then above and below.
	if l.box.x+l.box.w/2 < l.at.x {
		cost += 2
	}
	cost += 1.5 * math.Abs(l.box.y+l.box.h/2-l.at.y) / (l.h + 1)
	if lost := l.w*l.h - l.box.overlap(p.inside); lost > 0.5 {
		cost += costOutside + lost
	}
	for i, o := range p.labels {
		if cost > limit {
			return cost
		}
		if i != self && o.box != (box{}) {
			cost += l.beside(o, tip)
		}
	}
	for i, m := range p.markers {
		if cost > limit {
			return cost
		}
		if area := l.box.grown(1).overlap(m); area > 0 {
			cost += costHidden + area
		}
		if i == self {
			continue
		}
		other := point{m.x + m.w/2, m.y + m.h/2}
		switch {
		case l.leader && m.meets(l.at, tip):
			cost += costOver
		case !l.leader && distance(l.box.nearest(other), other) < distance(tip, l.at)+1:
			cost += costUnclear
		}
	}
	around := l.box.grown(1.5)
	for _, line := range p.lines {
		if around.meets(line[0], line[1]) {
			cost += costLine
		}
	}
	return cost
}

// beside is what it costs that l, with its tip there, stands beside o.
func (l label) beside(o label, tip point) float64 {
	cost := 0.0
	if area := l.box.grown(1.2).overlap(o.box); area > 0 {
		cost += costHidden + area
	}
	if l.leader && o.box.grown(1).meets(l.at, tip) {
		cost += costOver
	}
	if !o.leader {
		return cost
	}
	end := o.tip()
	if l.box.grown(1).meets(o.at, end) {
		cost += costOver
	}
	if l.leader && cross(l.at, tip, o.at, end) {
		cost += costCrossed
	}
	return cost
}
