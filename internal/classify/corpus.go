package classify

import (
	"math"
	"slices"
	"strings"
)

// Corpus counts what texts are made of: words and pairs of words, and the characters
// of words. Each text belongs to a group.
type Corpus struct {
	Names  []string // of the columns; those of characters come last
	words  int      // how many columns are phrases
	texts  []counts
	groups []int
}

// counts are a text's columns, ascending, with how often it has each.
type counts struct {
	columns []int32
	times   []float64
	split   int // where the columns of characters begin
}

// NewCorpus counts texts. groups has one number from 0 for each text.
func NewCorpus(texts []string, groups []int) *Corpus {
	c := &Corpus{groups: groups, texts: make([]counts, len(texts))}
	phraseOf, runOf := newVocabulary(), newVocabulary()
	runsOf := map[string][]int32{} // a word is taken apart once
	apart := make([]map[int32]float64, len(texts))
	for i, text := range texts {
		found := map[int32]float64{}
		for _, p := range phrases(Words(text)) {
			found[phraseOf.column(p)]++
		}
		c.texts[i].add(found)
		apart[i] = map[int32]float64{}
		for _, w := range strings.Fields(strings.ToLower(text)) {
			columns, known := runsOf[w]
			if !known {
				for _, r := range runs(w) {
					columns = append(columns, runOf.column(r))
				}
				runsOf[w] = columns
			}
			for _, k := range columns {
				apart[i][k]++
			}
		}
	}
	c.words = len(phraseOf.names)
	c.Names = slices.Concat(phraseOf.names, runOf.names)
	for i := range c.texts {
		t := &c.texts[i]
		t.split = len(t.columns)
		t.add(apart[i])
		for k := t.split; k < len(t.columns); k++ {
			t.columns[k] += int32(c.words)
		}
	}
	return c
}

// Phrase reports whether a column is a word or two, not a run of characters.
func (c *Corpus) Phrase(column int) bool { return column < c.words }

// Texts gives in how many of the texts a column occurs.
func (c *Corpus) Texts(column int, texts []int) (n int) {
	for _, i := range texts {
		if _, found := slices.BinarySearch(c.texts[i].columns, int32(column)); found {
			n++
		}
	}
	return n
}

func (t *counts) add(found map[int32]float64) {
	from := len(t.columns)
	for k := range found {
		t.columns = append(t.columns, k)
	}
	slices.Sort(t.columns[from:])
	for _, k := range t.columns[from:] {
		t.times = append(t.times, found[k])
	}
}

type vocabulary struct {
	columns map[string]int32
	names   []string
}

func newVocabulary() *vocabulary { return &vocabulary{columns: map[string]int32{}} }

func (v *vocabulary) column(name string) int32 {
	k, known := v.columns[name]
	if !known {
		k = int32(len(v.names))
		v.columns[name], v.names = k, append(v.names, name)
	}
	return k
}

// Rows weighs all texts by TF-IDF, as the texts of train give it: with n texts, df of
// which have a term, idf = ln((1+n)/(1+df)) + 1, and a text's words and its characters
// are each scaled to length 1. A term that fewer than minGroups groups of train have
// is left out: what one group alone says carries to no other.
func (c *Corpus) Rows(train []int, minGroups int) *Matrix {
	idf := c.idf(train, minGroups)
	m := &Matrix{Columns: len(c.Names)}
	for _, t := range c.texts {
		from := len(m.values)
		for _, ends := range [][2]int{{0, t.split}, {t.split, len(t.columns)}} {
			start := len(m.values)
			var squares float64
			for k := ends[0]; k < ends[1]; k++ {
				if w := idf[t.columns[k]]; w > 0 {
					v := t.times[k] * w
					squares += v * v
					m.columns, m.values = append(m.columns, t.columns[k]), append(m.values, v)
				}
			}
			for k := start; k < len(m.values); k++ {
				m.values[k] /= math.Sqrt(squares)
			}
		}
		m.ends = append(m.ends, [2]int{from, len(m.values)})
	}
	return m
}

// idf gives each column's weight; 0 for one that is left out.
func (c *Corpus) idf(train []int, minGroups int) []float64 {
	df, groups, last := make([]float64, len(c.Names)), make([]int, len(c.Names)), make([]int, len(c.Names))
	byGroup := slices.Clone(train)
	slices.SortStableFunc(byGroup, func(i, j int) int { return c.groups[i] - c.groups[j] })
	for _, i := range byGroup {
		for _, k := range c.texts[i].columns {
			df[k]++
			if last[k] != c.groups[i]+1 {
				last[k] = c.groups[i] + 1
				groups[k]++
			}
		}
	}
	for k, d := range df {
		df[k] = 0
		if d > 0 && groups[k] >= minGroups {
			df[k] = math.Log((1+float64(len(train)))/(1+d)) + 1
		}
	}
	return df
}
