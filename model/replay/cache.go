package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Cache is a folder of answers that may be given again: a file each, put in its place
// whole, so that any number of processes may use one folder without a lock, and damage
// to one answer is a miss. It may be used by many goroutines.
//
// Its key is the whole request with the model's name and settings, the trial's repeat
// and seed, the judge at work, and the how-many-th equal request of the play it is. So
// no repeat gets another's answer, nor one sample of a judge's another's.
type Cache struct {
	striker
	dir   string
	clock func() time.Time
	warn  func(string)

	mu    sync.Mutex
	times map[agentbound.Digest]int // of requests outside of trials
}

const (
	cacheMark    = "agentbound cache"
	cacheVersion = 1
	cacheFile    = "cache.json"
)

// cacheHead is the file that marks a folder as a cache.
type cacheHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// entry is an answer as it is kept. Sum is the SHA-256 of the others' JSON.
type entry struct {
	Version  int               `json:"version"`
	Key      agentbound.Digest `json:"key"`
	Model    string            `json:"model"`
	Created  string            `json:"created"` // RFC 3339
	Response json.RawMessage   `json:"response"`
	Sum      agentbound.Digest `json:"sum"`
}

func (e entry) sum() agentbound.Digest {
	e.Sum = ""
	return agentbound.DigestJSON(e)
}

// OpenCache opens the cache in a folder, and makes it there where the folder is empty
// or missing. A folder with anything else in it is an error. Existing: it is not made.
// warn is told of damaged answers; it may be nil.
func OpenCache(dir string, existing bool, warn func(string), o Options) (*Cache, error) {
	c := &Cache{dir: dir, clock: o.clock(), warn: warn, times: map[agentbound.Digest]int{}}
	if warn == nil {
		c.warn = func(string) {}
	}
	for _, s := range o.Secrets {
		c.secret(s)
	}
	if err := c.open(existing); err != nil {
		return nil, fmt.Errorf("cache %s: %w", dir, err)
	}
	return c, nil
}

// Secret is a further one: an answer that holds it is not kept.
func (c *Cache) Secret(s string) { c.secret(s) }

func (c *Cache) open(existing bool) error {
	b, err := os.ReadFile(filepath.Join(c.dir, cacheFile))
	switch {
	case err == nil:
		var h cacheHead
		if json.Unmarshal(b, &h) != nil || h.Format != cacheMark || h.Version != cacheVersion {
			return fmt.Errorf("its %s is not that of a cache of version %d: name another folder", cacheFile, cacheVersion)
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case existing:
		return fmt.Errorf("there is no cache: one is made by agentbound run --cache DIR: %w", fs.ErrNotExist)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	there, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, e := range there {
		if !temporary.MatchString(e.Name()) && !shelf.MatchString(e.Name()) && e.Name() != cacheFile { // another process is making it
			return fmt.Errorf("the folder holds other files (%s): name an empty or a new one", e.Name())
		}
	}
	b, _ = agentbound.EncodeJSON(cacheHead{cacheMark, cacheVersion}) // it encodes
	return putFile(filepath.Join(c.dir, cacheFile), append(b, '\n'))
}

// Names in the folder: shelves, and files on their way to their place.
var (
	shelf     = regexp.MustCompile(`^[0-9a-f]{2}$`)
	answer    = regexp.MustCompile(`^[0-9a-f]{64}\.json$`)
	temporary = regexp.MustCompile(`^\.new-`)
)

// putFile puts a file in its place whole.
func putFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Wrap gives a model whose answers are kept and given again. Errors are not kept.
func (c *Cache) Wrap(m model.Model) model.Model { return cached{m, c} }

type cached struct {
	model.Model
	cache *Cache
}

// keyed is what decides an answer.
type keyed struct {
	Request request
	Trial   bool
	Repeat  int
	Seed    uint64
	Judge   string
	Nth     int // of equal requests, from 0
}

// using is what a play has of the cache.
type using struct {
	mu     sync.Mutex
	begun  bool
	times  map[agentbound.Digest]int
	keys   []agentbound.Digest
	failed bool // the last turn brought no answer
}

// Chat implements model.Model.
func (m cached) Chat(ctx context.Context, req model.Request) (model.Response, error) {
	c := m.cache
	u, key := c.key(ctx, encodeRequest(m.Ref(), req))
	if res, ok := c.get(key); ok {
		u.note(key, false)
		res.Cached = true
		return res, ctx.Err()
	}
	res, err := m.Model.Chat(ctx, req)
	u.note(key, err != nil)
	if err == nil {
		c.put(key, m.Ref().Name, res)
	}
	return res, err
}

// key is a request's, which is the how-many-th of its play.
func (c *Cache) key(ctx context.Context, r request) (*using, agentbound.Digest) {
	k, u := keyed{Request: r}, (*using)(nil)
	if p := model.PlayOf(ctx); p != nil {
		k.Trial, k.Repeat, k.Seed, k.Judge = p.Trial != "", p.Repeat, p.Seed, p.Judge
		u = p.Keep(c, func() any { return &using{times: map[agentbound.Digest]int{}} }).(*using)
		u.mu.Lock()
		defer u.mu.Unlock()
		if !u.begun {
			u.begun = true
			p.AtEnd(func(scored bool, _ string) { c.ended(u, scored) })
		}
	}
	d := agentbound.DigestJSON(k)
	if u != nil && k.Trial {
		k.Nth = u.times[d]
		u.times[d]++
	} else {
		c.mu.Lock()
		defer c.mu.Unlock()
		k.Nth = c.times[d]
		c.times[d]++
	}
	return u, agentbound.DigestJSON(k)
}

func (u *using) note(key agentbound.Digest, failed bool) {
	if u != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.keys, u.failed = append(u.keys, key), failed
	}
}

// ended forgets the answers of a play that failed by them: asked again they would fail
// it again. One that failed since an answer was missing goes on from those it had.
func (c *Cache) ended(u *using, scored bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if scored || u.failed {
		return
	}
	for _, key := range u.keys {
		_ = os.Remove(c.path(key)) // what is gone already is forgotten
	}
}

func (c *Cache) path(key agentbound.Digest) string {
	return filepath.Join(c.dir, string(key[:2]), string(key)+".json")
}

// get gives the answer under a key, if there is a sound one.
func (c *Cache) get(key agentbound.Digest) (model.Response, bool) {
	e, err := readEntry(c.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return model.Response{}, false
	}
	var res response
	var out model.Response
	if err == nil && e.Key != key {
		err = errors.New("it is another's")
	}
	if err == nil {
		err = json.Unmarshal(e.Response, &res)
	}
	if err == nil {
		out, err = res.decode()
	}
	if err != nil {
		c.warn(fmt.Sprintf("cache %s: the answer %.12s is damaged (%v); the model is asked again", c.dir, key, err))
		return model.Response{}, false
	}
	return out, true
}

// longestEntry bounds what is read of a file.
const longestEntry = 64 << 20

func readEntry(path string) (entry, error) {
	var e entry
	info, err := os.Stat(path)
	if err != nil {
		return e, err
	}
	if !info.Mode().IsRegular() || info.Size() > longestEntry {
		return e, errors.New("it is no file of an answer")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, errors.New("it is not JSON of an answer")
	}
	if e.Version != cacheVersion || e.Sum != e.sum() {
		return e, errors.New("its sum is not that of its content")
	}
	return e, nil
}

// put keeps an answer. One that cannot be kept is told and costs another question
// later, no more.
func (c *Cache) put(key agentbound.Digest, name string, res model.Response) {
	if c.tells(res) || c.holds([]byte(name)) {
		return
	}
	b, err := agentbound.EncodeJSON(encodeResponse(res))
	e := entry{Version: cacheVersion, Key: key, Model: name, Created: c.clock().UTC().Format(time.RFC3339Nano), Response: b}
	e.Sum = e.sum()
	if err == nil {
		b, err = agentbound.EncodeJSON(e)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.path(key)), 0o700)
	}
	if err == nil {
		err = putFile(c.path(key), append(b, '\n'))
	}
	if err != nil {
		c.warn(fmt.Sprintf("cache %s: an answer could not be kept: %v", c.dir, err))
	}
}

// Dir is the cache's folder.
func (c *Cache) Dir() string { return c.dir }
