package replay

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Share is what a cache holds of one model.
type Share struct {
	Model   string    `json:"model"`
	Entries int       `json:"entries"`
	Bytes   int64     `json:"bytes"`
	Oldest  time.Time `json:"oldest"`
	Newest  time.Time `json:"newest"`
}

// held is an answer on its shelf.
type held struct {
	path    string
	model   string
	bytes   int64
	created time.Time
	damaged bool
}

// List tells what the cache holds, by model, and how many answers are damaged.
func (c *Cache) List() (shares []Share, damaged int, err error) {
	all, _, err := c.walk()
	if err != nil {
		return nil, 0, err
	}
	for _, h := range all {
		if h.damaged {
			damaged++
			continue
		}
		i := slices.IndexFunc(shares, func(s Share) bool { return s.Model == h.model })
		if i < 0 {
			i, shares = len(shares), append(shares, Share{Model: h.model, Oldest: h.created, Newest: h.created})
		}
		s := &shares[i]
		s.Entries, s.Bytes = s.Entries+1, s.Bytes+h.bytes
		if h.created.Before(s.Oldest) {
			s.Oldest = h.created
		}
		if h.created.After(s.Newest) {
			s.Newest = h.created
		}
	}
	slices.SortFunc(shares, func(a, b Share) int { return cmp.Compare(a.Model, b.Model) })
	return shares, damaged, nil
}

// Prune says what to remove: what is older than OlderThan, and then the oldest until
// at most MaxBytes are left, of the models that Model names (* stands for anything;
// empty: all). All: everything of them. A bound that is nil does not bind. Damaged
// answers go with any.
type Prune struct {
	Model     string
	OlderThan *time.Duration
	MaxBytes  *int64
	All       bool
}

// Pruned is what was removed and what is left of the whole cache.
type Pruned struct {
	Entries     int   `json:"entries"`
	Bytes       int64 `json:"bytes"`
	Damaged     int   `json:"damaged"` // of Entries
	LeftEntries int   `json:"left_entries"`
	LeftBytes   int64 `json:"left_bytes"`
}

// Prune removes answers. Other processes may go on meanwhile.
func (c *Cache) Prune(p Prune) (Pruned, error) {
	all, stale, err := c.walk()
	if err != nil {
		return Pruned{}, err
	}
	for _, path := range stale {
		if err := remove(path); err != nil {
			return Pruned{}, err
		}
	}
	slices.SortStableFunc(all, func(a, b held) int { return a.created.Compare(b.created) })
	goes := p.chosen(all, c.clock())
	var out Pruned
	for i, h := range all {
		if !goes[i] {
			out.LeftEntries, out.LeftBytes = out.LeftEntries+1, out.LeftBytes+h.bytes
			continue
		}
		if err := remove(h.path); err != nil {
			return out, err
		}
		out.Entries, out.Bytes = out.Entries+1, out.Bytes+h.bytes
		if h.damaged {
			out.Damaged++
		}
	}
	return out, nil
}

// chosen tells which answers go; all are sorted by age.
func (p Prune) chosen(all []held, now time.Time) []bool {
	goes := make([]bool, len(all))
	named := pattern(p.Model)
	left := int64(0)
	for i, h := range all {
		ours := named.MatchString(h.model)
		goes[i] = h.damaged || ours && (p.All || p.OlderThan != nil && h.created.Before(now.Add(-*p.OlderThan)))
		if ours && !goes[i] {
			left += h.bytes
		}
	}
	for i, h := range all {
		if p.MaxBytes != nil && left > *p.MaxBytes && !goes[i] && named.MatchString(h.model) {
			goes[i] = true
			left -= h.bytes
		}
	}
	return goes
}

func pattern(name string) *regexp.Regexp {
	if name == "" {
		name = "*"
	}
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*") + "$")
}

// staleAfter is when a file on its way to its place was left by a killed process.
const staleAfter = time.Hour

// walk gives all answers, and what killed processes left.
func (c *Cache) walk() (all []held, stale []string, err error) {
	shelves, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range shelves {
		if !s.IsDir() || !shelf.MatchString(s.Name()) {
			continue
		}
		dir := filepath.Join(c.dir, s.Name())
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil { // gone meanwhile
				continue
			}
			path := filepath.Join(dir, f.Name())
			switch {
			case answer.MatchString(f.Name()):
				if h, ok := hold(path, info); ok {
					all = append(all, h)
				}
			case temporary.MatchString(f.Name()) && c.clock().Sub(info.ModTime()) > staleAfter:
				stale = append(stale, path)
			}
		}
	}
	return all, stale, nil
}

// hold reads an answer; not ok where it is gone.
func hold(path string, info fs.FileInfo) (held, bool) {
	h := held{path: path, bytes: info.Size(), created: info.ModTime()}
	e, err := readEntry(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, false
	}
	created, timeErr := time.Parse(time.RFC3339Nano, e.Created)
	if err != nil || timeErr != nil || string(e.Key)+".json" != filepath.Base(path) {
		h.damaged = true
		return h, true
	}
	h.model, h.created = e.Model, created
	return h, true
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
