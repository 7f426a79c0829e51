package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
)

// serverEnv names the server where --server and --listen do not.
const serverEnv = "AGENTBOUND_PLAY"

func newPlay(std stdio) *cobra.Command {
	cmd := newPlayPerson(std)
	cmd.AddCommand(newPlaySeal(std), newPlayServe(std), newPlayList(std), newPlayStart(std), newPlayCall(std), newPlayFinish(std))
	return cmd
}

// sealing is what an evaluator asks for: the flags that play and play seal share.
type sealing struct {
	suite, store, dir, subject, inter string
	repeats, steps                    int
	seed                              uint64
	fresh                             bool
	how                               interveneRequest
}

func addSealing(cmd *cobra.Command, s *sealing, subject string) {
	f := cmd.Flags()
	f.StringVar(&s.suite, "suite", suites.Default, "built-in suite, folder or packed file")
	f.StringVar(&s.subject, "subject", subject, "who plays: the run's agent is play:NAME")
	f.StringVar(&s.inter, "intervene", agentbound.Bare, "intervention, such as placebo or aligner:MODEL; see run --help")
	addIntervene(cmd, &s.how)
	f.IntVar(&s.repeats, "repeats", 1, "attempts at each task")
	f.IntVar(&s.steps, "max-steps", 0, "calls in a session; 0: 120")
	f.Uint64Var(&s.seed, "seed", 0, "seed of the run")
	f.BoolVar(&s.fresh, "new", false, "another run of the same tasks")
	addStore(cmd, &s.store)
	addDir(cmd, &s.dir)
}

func addDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "private folder of sealed tasks and sessions (default: the store's name with .play)")
}

func playDir(dir, path string) string {
	return cmp.Or(dir, strings.TrimSuffix(storePath(path), filepath.Ext(storePath(path)))+".play")
}

// plan is the plan over the whole suite, to be narrowed.
func (s sealing) plan(rooms rooms, st *suite.Suite) (agentbound.Plan, error) {
	a, err := play.Agent(s.subject)
	if err != nil {
		return agentbound.Plan{}, coded{exitUsage, err}
	}
	if s.repeats < 1 || s.steps < 0 {
		return agentbound.Plan{}, usage("--repeats must be at least 1, and --max-steps cannot be negative")
	}
	how, err := s.how.intervening(modelOptions{}, s.inter)
	if err != nil {
		return agentbound.Plan{}, err
	}
	rooms.unasked = true // here; whoever serves the sessions asks
	i, err := rooms.intervention(s.inter, how)
	if err != nil {
		return agentbound.Plan{}, err
	}
	judges, err := rooms.judges("program", judging{})
	if err != nil {
		return agentbound.Plan{}, err
	}
	p := agentbound.Plan{
		Version: agentbound.PlanVersion, Suite: st.Ref(), Agent: a, Intervention: i.Ref, World: "program", Splits: agentbound.Splits(),
		Repeats: s.repeats, Limits: agentbound.Limits{Steps: s.steps}.WithDefaults(), Seed: s.seed,
	}
	for _, j := range judges {
		p.Judges = append(p.Judges, j.Config())
	}
	return p, nil
}

// seal makes the run, a further one with --new, and gives its sealed trials.
func (s sealing) seal(ctx context.Context, db store.Store, st *suite.Suite, p agentbound.Plan) (agentbound.Plan, []play.Sealed, error) {
	if s.fresh {
		all := []resolved{{plan: p}}
		if err := renew(ctx, db, all); err != nil {
			return p, nil, err
		}
		p = all[0].plan
	}
	sealed, err := play.Seal(ctx, db, playDir(s.dir, s.store), st, p, nil)
	return p, sealed, err
}

func newPlaySeal(std stdio) *cobra.Command {
	var s sealing
	var families, names []string
	var shuffle uint64
	cmd := &cobra.Command{
		Use: "seal [TASK…]", Short: "Seal tasks for a subject: opaque ids, in an order that tells nothing",
		Long: `Seal tasks for a subject. A TASK is FAMILY/SPLIT, or FAMILY:SPLIT,SPLIT; without any, the
families and splits of --families and --splits. One opaque id a line goes to stdout, in
random order, and the run's id to stderr. Sealing the same again gives the same ids.

The evaluator does this, and keeps the store and the private folder from the subject.
See docs/play.md for the whole procedure.`,
		Example: `  agentbound play seal --suite examples transfer-under-agreement/hb --subject ada
  agentbound play seal --families fraud --splits hb,cm --subject my-program > ids.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := loadSuite(s.suite)
			if err != nil {
				return err
			}
			tasks, err := chooseTasks(st, args, families, names, cmd.Flags().Changed("families") || cmd.Flags().Changed("splits"))
			if err != nil {
				return err
			}
			p, err := s.plan(newRooms(), st)
			if err != nil {
				return err
			}
			var order *rand.Rand
			if cmd.Flags().Changed("shuffle") {
				order = rand.New(rand.NewPCG(shuffle, 0))
			}
			return withStore(cmd.Context(), s.store, false, func(db store.Store) error {
				p, sealed, err := s.seal(cmd.Context(), db, st, play.Cover(st, p, tasks))
				if err != nil {
					return err
				}
				return printSealed(cmd.Context(), std, db, p, sealed, order)
			})
		},
	}
	addSealing(cmd, &s, "subject")
	cmd.Flags().StringSliceVar(&families, "families", nil, "families, archetypes, classes or categories (shell patterns)")
	cmd.Flags().StringSliceVar(&names, "splits", []string{"all"}, "splits, of hs, cm, eb, hb, hb-prohibited, cm-authorised; siblings, probes, all")
	cmd.Flags().Uint64Var(&shuffle, "shuffle", 0, "seed of the order of printing; by default it is another each time")
	return cmd
}

// printSealed prints the ids that are still to be played.
func printSealed(ctx context.Context, std stdio, db store.Store, p agentbound.Plan, sealed []play.Sealed, order *rand.Rand) error {
	shuffle := rand.Shuffle
	if order != nil {
		shuffle = order.Shuffle
	}
	shuffle(len(sealed), func(i, j int) { sealed[i], sealed[j] = sealed[j], sealed[i] })
	recorded := 0
	for _, s := range sealed {
		done, err := isRecorded(ctx, db, s)
		if err != nil {
			return err
		}
		if done {
			recorded++
			continue
		}
		fmt.Fprintln(std.out, s.ID)
	}
	if recorded > 0 {
		fmt.Fprintf(std.err, "%d of %d are recorded already and left out; --new makes another run\n", recorded, len(sealed))
	}
	fmt.Fprintf(std.err, "run %s\n", p.ID())
	return nil
}

func isRecorded(ctx context.Context, db store.Store, s play.Sealed) (bool, error) {
	r, err := db.Result(ctx, string(s.Trial.Key))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && r.Trajectory.End.Reason != agentbound.EndFault, err
}

// chooseTasks reads FAMILY/SPLIT and FAMILY:SPLIT,…, or the selection of flags.
func chooseTasks(st *suite.Suite, args, families, names []string, flags bool) ([]agentbound.TaskID, error) {
	if len(args) > 0 && flags {
		return nil, usage("name tasks, or choose them with --families and --splits, not both")
	}
	if len(args) == 0 && !flags {
		return nil, usage("no task: name some, such as %s/hb, or choose with --families and --splits", st.Families[0].ID)
	}
	if flags {
		chosen, err := run.Select(st, families, 0)
		if err != nil {
			return nil, coded{exitUsage, err}
		}
		return tasksOf(chosen, names)
	}
	var all []agentbound.TaskID
	for _, arg := range args {
		tasks, err := readTask(st, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, tasks...)
	}
	return all, nil
}

func readTask(st *suite.Suite, arg string) ([]agentbound.TaskID, error) {
	i := strings.IndexAny(arg, "/:")
	if i < 0 {
		return nil, usage("task %q: want FAMILY/SPLIT, such as %s/hb, or FAMILY:SPLIT,SPLIT", arg, st.Families[0].ID)
	}
	id := agentbound.FamilyID(arg[:i])
	if _, ok := st.Family(id); !ok {
		return nil, usage("suite %s has no family %q; see: agentbound suite list %s", st.Name, id, st.Name)
	}
	return tasksOf([]agentbound.FamilyID{id}, strings.Split(arg[i+1:], ","))
}

func tasksOf(families []agentbound.FamilyID, names []string) ([]agentbound.TaskID, error) {
	chosen, err := splits(names)
	if err != nil {
		return nil, err
	}
	var all []agentbound.TaskID
	for _, f := range families {
		for _, s := range chosen {
			all = append(all, agentbound.TaskID(string(f)+"/"+string(s)))
		}
	}
	return all, nil
}

func withStore(ctx context.Context, path string, existing bool, use func(store.Store) error) error {
	db, err := openStore(ctx, storePath(path), existing)
	if err != nil {
		return err
	}
	return errors.Join(use(db), db.Close())
}

// sessions opens the worlds of sealed tasks.
func (r rooms) sessions(ctx context.Context, db store.Store, dir string, log *slog.Logger) (*play.Sessions, error) {
	return play.Open(ctx, play.Options{
		Store: db, Dir: dir, World: r.world, Log: log,
		Judge: func(config string) (judge.Judge, error) {
			judges, err := r.judges(config, judging{})
			if err != nil {
				return nil, err
			}
			return judges[0], nil
		},
		Intervention: r.storedIntervention,
	})
}

func newPlayServe(std stdio) *cobra.Command {
	var path, dir, listen string
	cmd := &cobra.Command{
		Use: "serve", Short: "Own the worlds of sealed tasks and serve their sessions", Args: cobra.NoArgs,
		Long: `Serve the sessions of sealed tasks on a loopback address or a Unix socket. The subject
reaches it with play start, call and finish, or over HTTP; nothing it can reach tells what
a task is or how it is judged.

Every step is on the disk before it is acknowledged: a server that stops, or is killed,
goes on where it was. What is finished is judged and stored as a trial of its run.`,
		Example: "  agentbound play serve\n  agentbound play serve --listen /run/agentbound/play.sock --store /srv/eval/agentbound.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return withStore(ctx, path, true, func(db store.Store) error {
				s, err := newRooms().sessions(ctx, db, playDir(dir, path), slog.New(slog.NewTextHandler(std.err, nil)))
				if err != nil {
					return err
				}
				l, err := play.Listen(ctx, listen)
				if err != nil {
					return errors.Join(coded{exitUsage, err}, s.Close())
				}
				fmt.Fprintf(std.err, "serving %s on %s; stop with Ctrl-C, sessions can be resumed\n", playDir(dir, path), l.Addr())
				return errors.Join(play.Serve(ctx, l, s), s.Close())
			})
		},
	}
	addStore(cmd, &path)
	addDir(cmd, &dir)
	cmd.Flags().StringVar(&listen, "listen", cmp.Or(os.Getenv(serverEnv), play.DefaultServer), "HOST:PORT on loopback, or the path of a Unix socket")
	return cmd
}

func newPlayList(std stdio) *cobra.Command {
	var path, dir string
	cmd := &cobra.Command{
		Use: "list", Short: "List sealed tasks: what each id is, and how far it got", Args: cobra.NoArgs,
		Long:    "List the sealed tasks of the private folder. This is for the evaluator: never show it to\na subject.",
		Example: "  agentbound play list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), path, true, func(db store.Store) error {
				return listSealed(cmd.Context(), std.out, db, playDir(dir, path))
			})
		},
	}
	addStore(cmd, &path)
	addDir(cmd, &dir)
	return cmd
}

func listSealed(ctx context.Context, out io.Writer, db store.Store, dir string) error {
	sealed, err := play.Seals(dir)
	if err != nil {
		return err
	}
	begun, err := play.Begun(dir)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tRUN\tTASK\tREPEAT\tSTATE")
	for _, s := range sealed {
		state := "sealed"
		if begun[s.ID] {
			state = "begun"
		}
		done, err := isRecorded(ctx, db, s)
		if err != nil {
			return err
		}
		if done {
			state = "recorded"
		}
		fmt.Fprintf(w, "%s\t%s\t%s/%s\t%d\t%s\n", s.ID, s.Run, s.Trial.Family, s.Trial.Split, s.Trial.Repeat, state)
	}
	return w.Flush()
}
