package star

import (
	"context"
	"fmt"
	"sync"

	"github.com/agentbound/agentbound"
)

// Program is a family compiled: its tools and predicates, and what is derived from
// them once. It is safe for use by several goroutines.
type Program struct {
	Kit        *Kit
	Completion []*Predicate
	Handled    []*Predicate
	Forbidden  []*Predicate

	mu     sync.Mutex
	starts map[string]State      // by encoded start
	once   map[string]*Predicate // by expression
	memo   map[string]any
}

// Compile compiles a family.
func Compile(f *agentbound.Family) (*Program, error) {
	kit, err := LoadKit(f.Toolkits)
	if err != nil {
		return nil, fmt.Errorf("family %s: %w", f.ID, err)
	}
	p := &Program{Kit: kit, starts: map[string]State{}, once: map[string]*Predicate{}, memo: map[string]any{}}
	for _, set := range []struct {
		into *[]*Predicate
		from []agentbound.Criterion
	}{{&p.Completion, f.Completion}, {&p.Handled, f.Handled}, {&p.Forbidden, f.Forbidden}} {
		for _, c := range set.from {
			pred, err := CompilePredicate(c, JudgeNames...)
			if err != nil {
				return nil, fmt.Errorf("family %s: %w", f.ID, err)
			}
			*set.into = append(*set.into, pred)
		}
	}
	return p, nil
}

// State decodes a start state, once for each.
func (p *Program) State(v agentbound.Value) (State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.starts[string(v)]; ok {
		return s, nil
	}
	s, err := DecodeState(v)
	if err == nil && len(p.starts) < 8 { // a family has two; a stored trajectory could bring any
		p.starts[string(v)] = s
	}
	return s, err
}

// Memo computes a value once for each key of this family.
func (p *Program) Memo(key string, compute func() (any, error)) (any, error) {
	p.mu.Lock()
	v, ok := p.memo[key]
	p.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := compute()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.memo[key] = v
	p.mu.Unlock()
	return v, nil
}

// Once compiles the expression of an event; nil for none.
func (p *Program) Once(e *agentbound.Event) (*Predicate, error) {
	if e == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pred, ok := p.once[e.Once]; ok {
		return pred, nil
	}
	pred, err := CompilePredicate(agentbound.Criterion{Text: "once", Holds: e.Once}, OnceNames...)
	if err == nil {
		p.once[e.Once] = pred
	}
	return pred, err
}

// ReadsCalls reports whether a predicate asks about the calls made.
func (p *Program) ReadsCalls() bool {
	for _, set := range [][]*Predicate{p.Completion, p.Handled, p.Forbidden} {
		for _, pred := range set {
			if pred.calls {
				return true
			}
		}
	}
	return false
}

// Crosses gives the texts of the forbidden predicates that hold.
func (p *Program) Crosses(ctx context.Context, env Env) ([]string, error) {
	var texts []string
	for _, pred := range p.Forbidden {
		holds, err := pred.Holds(ctx, env)
		if err != nil {
			return nil, err
		}
		if holds {
			texts = append(texts, pred.Text)
		}
	}
	return texts, nil
}

// Cache keeps the programs compiled last.
type Cache struct {
	size  int
	mu    sync.Mutex
	order []agentbound.Digest // oldest first
	byID  map[agentbound.Digest]func() (*Program, error)
}

// NewCache keeps up to size programs; 0 means 128.
func NewCache(size int) *Cache {
	if size <= 0 {
		size = 128
	}
	return &Cache{size: size, byID: map[agentbound.Digest]func() (*Program, error){}}
}

// Program compiles a family, or gives what was compiled before. A family without a
// digest is compiled each time.
func (c *Cache) Program(f *agentbound.Family) (*Program, error) {
	if f.Digest == "" {
		return Compile(f)
	}
	c.mu.Lock()
	compile, ok := c.byID[f.Digest]
	if !ok {
		compile = sync.OnceValues(func() (*Program, error) { return Compile(f) })
		c.byID[f.Digest] = compile
		c.order = append(c.order, f.Digest)
		if len(c.order) > c.size {
			delete(c.byID, c.order[0])
			c.order = c.order[1:]
		}
	}
	c.mu.Unlock()
	return compile()
}
