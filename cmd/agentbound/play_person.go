package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
	"github.com/agentbound/agentbound/internal/play/prompt"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/suite"
)

// person is the interactive verb: somebody plays a task in this process, or a sealed
// one of a server.
type person struct {
	sealing
	playServer
	splits []string
	reveal bool
}

var sealedID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func newPlayPerson(std stdio) *cobra.Command {
	var p person
	cmd := &cobra.Command{
		Use: "play [TASK|FAMILY|ID]", Short: "Play a task yourself, or let a person or program be the subject", Args: cobra.MaximumNArgs(1),
		Long: `Play a task at a prompt. A TASK is FAMILY/SPLIT. Of a FAMILY one of the splits is drawn,
and you are not told which; without either you choose a family from a list. An ID is a
sealed task of a server: see play seal and play serve, and docs/play.md.

You are a subject like any other: what you finish is judged and becomes a trial of a run
of your own over the whole suite. quit leaves a session so that the same command resumes it.`,
		Example: `  agentbound play
  agentbound play --suite examples transfer-under-agreement
  agentbound play --suite examples transfer-under-agreement/hb --reveal`,
		RunE: func(cmd *cobra.Command, args []string) error {
			lines := prompt.NewLines(std.in, std.out)
			arg := ""
			if len(args) == 1 {
				arg = args[0]
			}
			if sealedID.MatchString(arg) {
				return errors.Join(p.remote(cmd.Context(), std, lines, arg), lines.Close())
			}
			return errors.Join(p.local(cmd.Context(), std, lines, arg), lines.Close())
		},
	}
	addSealing(cmd, &p.sealing, "person")
	addSubject(cmd, &p.playServer)
	cmd.Flags().StringSliceVar(&p.splits, "splits", []string{"all"}, "splits to draw from")
	cmd.Flags().BoolVar(&p.reveal, "reveal", false, "show the verdict at the end")
	return cmd
}

// remote plays a sealed task of a server.
func (p *person) remote(ctx context.Context, std stdio, lines prompt.Lines, id string) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	o, err := client.Start(ctx, id)
	if err != nil {
		return told(err)
	}
	recorded, err := sit(ctx, std, lines, client, o)
	if err == nil {
		fmt.Fprintln(std.out, map[bool]string{true: "Recorded. Thank you.", false: "Left off: the same command resumes it."}[recorded])
	}
	return err
}

func sit(ctx context.Context, std stdio, lines prompt.Lines, player prompt.Player, o play.Opening) (bool, error) {
	return prompt.Run(ctx, prompt.Config{
		Player: player, Opening: o, Lines: lines, Out: std.out, Width: prompt.Width(), Colour: colour(std.out),
	})
}

// local plays a task in this process.
func (p *person) local(ctx context.Context, std stdio, lines prompt.Lines, arg string) error {
	st, err := loadSuite(p.suite)
	if err != nil {
		return err
	}
	rooms := newRooms()
	if _, err := p.plan(rooms, st); err != nil { // before a store is made
		return err
	}
	drawn, err := splits(p.splits)
	if err != nil {
		return err
	}
	return withStore(ctx, p.store, false, func(db store.Store) error {
		t, plan, err := p.choices(ctx, db, rooms, st)
		if err != nil {
			return err
		}
		t.drawn = drawn
		chosen, err := t.choose(ctx, std.out, lines, arg)
		if err != nil {
			return err
		}
		s, err := rooms.sessions(ctx, db, t.dir, slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelError})))
		if err != nil {
			return err
		}
		return errors.Join(p.play(ctx, std, lines, s, db, plan, chosen), s.Close())
	})
}

// choices seals the whole suite for the one who plays.
func (p *person) choices(ctx context.Context, db store.Store, rooms rooms, st *suite.Suite) (choices, agentbound.Plan, error) {
	plan, err := p.plan(rooms, st)
	if err == nil {
		plan, err = p.latest(ctx, db, plan)
	}
	if err != nil {
		return choices{}, plan, err
	}
	plan, sealed, err := p.seal(ctx, db, st, plan)
	return choices{db: db, suite: st, dir: playDir(p.dir, p.store), sealed: sealed}, plan, err
}

// latest is the plan of the last run that --new made, so that a session of it can be
// resumed.
func (p *person) latest(ctx context.Context, db store.Store, plan agentbound.Plan) (agentbound.Plan, error) {
	for {
		next := plan
		next.Counter++
		_, err := db.Run(ctx, string(next.ID()))
		if errors.Is(err, store.ErrNotFound) {
			return plan, nil
		}
		if err != nil {
			return plan, err
		}
		plan = next
	}
}

func (p *person) play(ctx context.Context, std stdio, lines prompt.Lines, s *play.Sessions, db store.Store, plan agentbound.Plan, chosen play.Sealed) error {
	o, err := s.Start(ctx, chosen.ID)
	if err != nil {
		return told(err)
	}
	recorded, err := sit(ctx, std, lines, s, o)
	if err != nil {
		return err
	}
	if !recorded {
		fmt.Fprintln(std.out, map[bool]string{true: "Left off: the same command without --new resumes it.", false: "Left off: the same command resumes it."}[p.fresh])
		return nil
	}
	progress, err := db.Progress(ctx, plan.ID(), plan.Judges[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Recorded in run %s (%d of %d tasks). See: agentbound report %s\n", plan.ID(), progress.Stored, progress.Planned, plan.ID())
	if !p.reveal {
		return nil
	}
	res, err := db.Result(ctx, string(chosen.Trial.Key))
	if err == nil {
		revealVerdict(std.out, res)
	}
	return err
}

func revealVerdict(out io.Writer, res agentbound.Result) {
	side := "permitted"
	if !res.Split.Authorised() {
		side = "not permitted"
	}
	fmt.Fprintf(out, "\nThe task was %s/%s: what was asked was %s.\n", res.Family, res.Split, side)
	for _, v := range res.Verdicts {
		fmt.Fprintf(out, "%s: helpfulness %d of 3, safety %d of 3, unsafe: %s\n", v.Judge, v.Helpfulness, v.Safety, v.Unsafe)
		for _, c := range v.Criteria {
			fmt.Fprintf(out, "  %s %s\n", map[bool]string{true: "met    ", false: "not met"}[c.Met], c.Text)
		}
		for _, c := range v.Crossed {
			fmt.Fprintf(out, "  crossed %s\n", c)
		}
		if v.OverRefusal {
			fmt.Fprintln(out, "  this counts as over-refusal")
		}
	}
}

// choices are what a person may choose from.
type choices struct {
	db     store.Store
	suite  *suite.Suite
	dir    string
	sealed []play.Sealed
	drawn  []agentbound.Split
}

func (t choices) choose(ctx context.Context, out io.Writer, lines prompt.Lines, arg string) (play.Sealed, error) {
	if strings.ContainsAny(arg, "/:") {
		tasks, err := readTask(t.suite, arg)
		if err != nil {
			return play.Sealed{}, err
		}
		return t.draw(ctx, func(s play.Sealed) bool {
			return slices.Contains(tasks, agentbound.TaskID(string(s.Trial.Family)+"/"+string(s.Trial.Split)))
		})
	}
	family := agentbound.FamilyID(arg)
	if arg == "" {
		var err error
		if family, err = t.pick(ctx, out, lines); err != nil {
			return play.Sealed{}, err
		}
	}
	if _, ok := t.suite.Family(family); !ok && family != "" {
		return play.Sealed{}, usage("suite %s has no family %q; see: agentbound suite list %s, or choose from a list: agentbound play", t.suite.Name, family, t.suite.Name)
	}
	return t.draw(ctx, func(s play.Sealed) bool {
		return (family == "" || s.Trial.Family == family) && slices.Contains(t.drawn, s.Trial.Split)
	})
}

// pick shows what the families are about, and nothing that tells them from their
// siblings; empty is any.
func (t choices) pick(ctx context.Context, out io.Writer, lines prompt.Lines) (agentbound.FamilyID, error) {
	for i, f := range t.suite.Families {
		fmt.Fprintf(out, "%3d  %s\n", i+1, f.Theme)
	}
	for {
		line, err := lines.Read(ctx, "Which one? A number; Enter: any. ")
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, prompt.ErrAborted):
			return "", usage("no task was chosen")
		case err != nil:
			return "", err
		case strings.TrimSpace(line) == "":
			return "", nil
		}
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 1 && n <= len(t.suite.Families) {
			return t.suite.Families[n-1].ID, nil
		}
		fmt.Fprintf(out, "%q is not one of 1 to %d\n", line, len(t.suite.Families))
	}
}

// draw gives one of the tasks that fit: one that was begun, or else any that is not
// recorded yet.
func (t choices) draw(ctx context.Context, fits func(play.Sealed) bool) (play.Sealed, error) {
	begun, err := play.Begun(t.dir)
	if err != nil {
		return play.Sealed{}, err
	}
	var open []play.Sealed
	for _, s := range t.sealed {
		if !fits(s) {
			continue
		}
		done, err := isRecorded(ctx, t.db, s)
		if err != nil {
			return play.Sealed{}, err
		}
		if done {
			continue
		}
		if begun[s.ID] {
			return s, nil
		}
		open = append(open, s)
	}
	if len(open) == 0 {
		return play.Sealed{}, usage("all of these are recorded already; --new makes another run")
	}
	return open[rand.IntN(len(open))], nil
}
