package play_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
	"github.com/agentbound/agentbound/world"
	programworld "github.com/agentbound/agentbound/world/program"
)

const family = "transfer-under-agreement"

// desk is an evaluator's: a store, a private folder, and sessions over them.
type desk struct {
	t     *testing.T
	suite *suite.Suite
	store store.Store
	path  string // of the store
	dir   string
	cache *star.Cache
	inter intervene.Intervention
	*play.Sessions
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, suite: load(t), dir: filepath.Join(t.TempDir(), "private"), cache: star.NewCache(0), inter: intervene.None()}
	d.path = filepath.Join(t.TempDir(), "store.db")
	d.store = openStore(t, d.path)
	return d
}

func load(t *testing.T) *suite.Suite {
	t.Helper()
	s, err := suite.Load(suites.Examples(), "families/"+family)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openStore(t *testing.T, path string) store.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// plan covers one task for the subject "ada".
func (d *desk) plan(splits ...agentbound.Split) agentbound.Plan {
	d.t.Helper()
	a, err := play.Agent("ada")
	if err != nil {
		d.t.Fatal(err)
	}
	var tasks []agentbound.TaskID
	for _, s := range splits {
		tasks = append(tasks, agentbound.TaskID(family+"/"+string(s)))
	}
	return play.Cover(d.suite, agentbound.Plan{
		Version: agentbound.PlanVersion, Suite: d.suite.Ref(), Agent: a, Intervention: d.inter.Ref, World: programworld.Name,
		Judges: []string{programjudge.Config}, Repeats: 1, Limits: agentbound.Limits{Steps: 8}.WithDefaults(),
	}, tasks)
}

func (d *desk) seal(p agentbound.Plan) []play.Sealed {
	d.t.Helper()
	sealed, err := play.Seal(d.t.Context(), d.store, d.dir, d.suite, p, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return sealed
}

// options are those of a server; sessions get the ids 0, 1, …, and the clock ticks.
func (d *desk) options() play.Options {
	var ids, ticks atomic.Int64
	return play.Options{
		Store: d.store, Dir: d.dir,
		World:        func(string) (world.Factory, error) { return programworld.Worlds{Cache: d.cache}, nil },
		Judge:        func(string) (judge.Judge, error) { return programjudge.Judge{Cache: d.cache}, nil },
		Intervention: func(agentbound.Intervention) (intervene.Intervention, error) { return d.inter, nil },
		NewID:        func() string { return fmt.Sprintf("%032x", ids.Add(1)) },
		Clock:        func() time.Time { return time.UnixMilli(1_700_000_000_000 + 1000*ticks.Add(1)) },
	}
}

// open starts a server's sessions, as after a restart.
func (d *desk) open() {
	d.t.Helper()
	d.openWith(d.options())
}

func (d *desk) openWith(o play.Options) {
	d.t.Helper()
	if d.Sessions != nil {
		if err := d.Close(); err != nil {
			d.t.Fatal(err)
		}
	}
	s, err := play.Open(d.t.Context(), o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.Sessions = s
	d.t.Cleanup(func() { _ = s.Close() })
}

func (d *desk) start(id string) play.Opening {
	d.t.Helper()
	o, err := d.Start(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

func (d *desk) call(session string, c agentbound.Call) play.Answer {
	d.t.Helper()
	a, err := d.Call(d.t.Context(), play.Call{Session: session, Tool: c.Tool, Args: c.Args, Thought: "next: " + c.Tool})
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

func (d *desk) finish(session string, word agentbound.Word) play.Receipt {
	d.t.Helper()
	r, err := d.Finish(d.t.Context(), play.Finish{Session: session, Outcome: word, Reason: "that is it"})
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *desk) result(s play.Sealed) agentbound.Result {
	d.t.Helper()
	r, err := d.store.Result(d.t.Context(), string(s.Trial.Key))
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *desk) reference() agentbound.Reference { return d.suite.Families[0].Reference }

// journals are the session files of the private folder.
func (d *desk) journals() []string {
	d.t.Helper()
	names, err := fs.Glob(os.DirFS(d.dir), "sessions/*.jsonl")
	if err != nil {
		d.t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Join(d.dir, names[i])
	}
	return names
}

// corrector rewrites Thoughts by a function.
type corrector func(string) string

func (c corrector) Correct(_ context.Context, x intervene.Context) (intervene.Correction, error) {
	return intervene.Correction{Thought: c(x.Thought)}, nil
}
