package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/generate"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/suite/pattern"
	"github.com/agentbound/agentbound/suite/seed"
)

// synthesis is what generate is asked for, as flags.
type synthesis struct {
	o                               generate.Options
	engine, model, temperature      string
	classes, against                []string
	patterns, seeds, format         string
	budgetCalls, revisions, samples int
	budgetTokens                    int64
	timeout                         time.Duration
	from                            string
	more                            int
	keeping                         keeping
	keep                            *keep
}

func newGenerate(io stdio) *cobra.Command {
	var s synthesis
	cmd := &cobra.Command{
		Use: "generate --out DIR", Short: "Synthesise families, with the validator in the loop", Args: cobra.NoArgs,
		Long: `Synthesise families: draw a class and patterns, have one family written, validate
it, hand back what failed, have it revised, or draw anew. Accepted families are a
suite in DIR; every prompt, answer and report is kept in DIR/attempts.

The same command goes on where it was stopped, and pays for nothing twice; engine
pattern wants a new folder, and gives the same there. Exit code 1 says that not all
candidates were accepted, 0 that all were or that answers are awaited.

Engine lm asks a model. Engine file writes prompts for whoever answers, a person or
any model, and takes answers from answer.md beside them: run the same command again
after each. Engine pattern asks nobody: it expands archetypes of --from beyond the
families that they list, and keeps what passes the same gates.

` + "Models that can be asked: compat:MODEL@BASE_URL, any OpenAI-compatible chat endpoint.",
		Example: `  agentbound generate --out new --engine lm --model compat:my-model@http://127.0.0.1:8000/v1 --count 20 --budget-tokens 2000000
  agentbound generate --out mine --engine file --class privacy,fraud --count 2
  agentbound generate --out new --engine file --seeds seeds.jsonl
  agentbound generate --out more --engine pattern --from ./my-suite --more 8`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd, io) },
	}
	f := cmd.Flags()
	f.StringVar(&s.o.Dir, "out", "", "folder for attempts and the suite of accepted families")
	f.StringVar(&s.engine, "engine", string(generate.LM), "lm, file or pattern")
	f.StringVar(&s.model, "model", "", "of engine lm: compat:MODEL@BASE_URL")
	f.IntVar(&s.o.Count, "count", 1, "candidates")
	f.StringVar(&s.from, "from", "", "of engine pattern: folder of a suite with archetypes, or of one archetype")
	f.IntVar(&s.more, "more", 4, "of engine pattern: families of each archetype beyond those that it lists, at most")
	f.StringSliceVar(&s.classes, "class", nil, "classes to draw from in turn (default: all that have patterns)")
	f.StringVar(&s.seeds, "seeds", "", "seeds file of suite import to draw topics from")
	f.StringVar(&s.patterns, "patterns", "", "folder with pattern files of your own; they outrank the built-in ones")
	f.StringSliceVar(&s.against, "against", nil, "suites that no candidate may be near to")
	f.Uint64Var(&s.o.Seed, "seed", 0, "decides the draws")
	f.IntVar(&s.revisions, "revisions", 3, "revisions of a draft")
	f.IntVar(&s.samples, "resamples", 2, "new draws after a draft that was not mended")
	f.IntVar(&s.o.Concurrency, "concurrency", 1, "candidates at a time")
	f.IntVar(&s.budgetCalls, "budget-calls", 0, "model calls in this folder, all runs together; 0: no bound")
	f.Int64Var(&s.budgetTokens, "budget-tokens", 0, "tokens of prompts and answers, all runs together; 0: no bound")
	f.IntVar(&s.o.MaxTokens, "max-tokens", 16_000, "of one answer")
	f.StringVar(&s.temperature, "temperature", "", "of the model (default: the provider's own)")
	addRecording(cmd, &s.keeping)
	f.DurationVar(&s.timeout, "timeout", 10*time.Minute, "of one attempt at a model call")
	addFormat(cmd, &s.format)
	return cmd
}

func (s *synthesis) run(cmd *cobra.Command, io stdio) (err error) {
	if err := checkFormat(s.format, "table", "json"); err != nil {
		return err
	}
	if s.o.Dir == "" {
		return usage("--out is missing: name the folder for attempts and accepted families")
	}
	if err := s.flags(cmd); err != nil {
		return err
	}
	if s.engine == string(generate.Pattern) {
		return plainly(s.vary(cmd, io))
	}
	if s.keep, err = s.keeping.open(io, false); err != nil {
		return plainly(err)
	}
	defer func() { err = errors.Join(err, s.keep.close()) }()
	if err := s.resolve(); err != nil {
		return plainly(err)
	}
	s.o.Observe = func(e generate.Event) {
		fmt.Fprintf(io.err, "%04d/%02d %s\n", e.Candidate, e.Round, plainLine(e.What))
	}
	sum, err := generate.Run(cmd.Context(), s.o)
	if refused := (*generate.UsageError)(nil); errors.As(err, &refused) {
		err = coded{exitUsage, err}
	}
	err = plainly(err)
	if sum.Version == 0 {
		return err
	}
	if s.format == "json" {
		err = errors.Join(err, printJSON(io.out, sum))
	} else {
		err = errors.Join(err, printSynthesis(io.out, sum))
	}
	if err == nil && sum.Accepted+sum.Count(generate.Waiting) < len(sum.Candidates) {
		return missed()
	}
	return err
}

// flags refuses what the engine would not look at: who names it expects it to count.
func (s *synthesis) flags(cmd *cobra.Command) error {
	engine := generate.Engine(s.engine)
	if err := engine.Validate(); err != nil {
		return usage("--engine: %w", err)
	}
	if s.o.Concurrency < 1 {
		return usage("--concurrency %d: want 1 or more", s.o.Concurrency)
	}
	asking := []string{"model", "budget-calls", "budget-tokens", "max-tokens", "temperature", "timeout", "record", "replay"}
	drawing := []string{"count", "class", "seeds", "patterns", "revisions", "resamples", "seed"}
	foreign, why := []string{"from", "more"}, "which expands no archetypes; take --engine pattern"
	switch engine {
	case generate.File:
		foreign, why = append(foreign, asking...), "which asks no model and expands no archetypes"
	case generate.Pattern:
		foreign, why = slices.Concat(asking, drawing), "which expands what --from holds"
	case generate.LM:
	}
	for _, name := range foreign {
		if cmd.Flags().Changed(name) {
			return usage("--%s is not of engine %s, %s", name, engine, why)
		}
	}
	if engine == generate.LM && s.timeout <= 0 {
		return usage("--timeout %s: want more than 0", s.timeout)
	}
	return nil
}

// vary is engine pattern.
func (s *synthesis) vary(cmd *cobra.Command, io stdio) error {
	if s.from == "" || s.more < 1 {
		return usage("engine pattern needs --from, a folder with archetypes, and --more of 1 or more")
	}
	v := generate.Variation{Source: s.from, Dir: s.o.Dir, More: s.more, Concurrency: s.o.Concurrency, Screen: screened, Program: version}
	for _, name := range s.against {
		other, err := loadSuite(name)
		if err != nil {
			return err
		}
		v.Against = append(v.Against, other.Families...)
	}
	v.Observe = func(e generate.Event) { fmt.Fprintf(io.err, "%04d %s\n", e.Candidate, plainLine(e.What)) }
	sum, err := generate.Vary(cmd.Context(), v)
	if refused := (*generate.UsageError)(nil); errors.As(err, &refused) {
		return coded{exitUsage, err}
	}
	if err != nil {
		return err
	}
	if s.format == "json" {
		err = printJSON(io.out, sum)
	} else {
		err = printSynthesis(io.out, sum)
	}
	if err == nil && sum.Accepted < len(sum.Candidates) {
		return missed()
	}
	return err
}

// resolve makes options of the flags.
func (s *synthesis) resolve() (err error) {
	s.o.Engine, s.o.Program, s.o.Screen = generate.Engine(s.engine), version, screened
	s.o.Revisions, s.o.Resamples = s.revisions, s.samples
	s.o.Budget = generate.Budget{Calls: s.budgetCalls, Tokens: s.budgetTokens}
	if s.budgetCalls < 0 || s.budgetTokens < 0 {
		return usage("--budget-calls and --budget-tokens: want 0 or more")
	}
	for _, c := range s.classes {
		s.o.Classes = append(s.o.Classes, agentbound.Class(c))
	}
	if err := s.writer(); err != nil {
		return err
	}
	if s.o.Patterns, err = patternsIn(s.patterns); err != nil {
		return err
	}
	for _, name := range s.against {
		other, err := loadSuite(name)
		if err != nil {
			return err
		}
		s.o.Against = append(s.o.Against, other.Families...)
	}
	if s.seeds != "" {
		s.o.Seeds, err = seedsIn(s.seeds)
	}
	return err
}

// writer resolves --model and how it is asked.
func (s *synthesis) writer() (err error) {
	if s.o.Engine != generate.LM {
		return nil
	}
	if s.o.MaxTokens < 1 {
		return usage("--max-tokens %d: want 1 or more", s.o.MaxTokens)
	}
	if s.model == "" {
		return usage("--model is missing: compat:MODEL@BASE_URL, or take --engine file")
	}
	rooms := newRooms()
	rooms.keep = s.keep
	if s.o.Model, err = rooms.model(s.model, modelOptions{perCall: s.timeout, part: model.PartWriter}); err != nil {
		return coded{exitUsage, err}
	}
	if s.temperature != "" {
		t, err := strconv.ParseFloat(s.temperature, 64)
		if err != nil || !(t >= 0 && t <= math.MaxFloat32) { // also not a number
			return usage("--temperature %q: want a number from 0", s.temperature)
		}
		s.o.Temperature = &t
	}
	return nil
}

// patternsIn gives the built-in patterns, with those of a folder over them.
func patternsIn(folder string) (pattern.Collection, error) {
	all, err := pattern.BuiltIn()
	if err != nil || folder == "" {
		return all, err
	}
	own, err := pattern.Load(os.DirFS(folder))
	if err != nil {
		return nil, coded{exitUsage, fmt.Errorf("--patterns %s: %w", folder, err)}
	}
	if len(own) == 0 {
		return nil, usage("--patterns %s: no pattern file there; accepted: <class>.yaml", folder)
	}
	return all.Merge(own), nil
}

func seedsIn(file string) ([]seed.Seed, error) {
	b, err := readInput(file, maxInput)
	if err != nil {
		return nil, err
	}
	seeds, err := seed.Read(file, bytes.NewReader(b))
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	if len(seeds) == 0 {
		return nil, usage("%s: no seed in it", file)
	}
	return seeds, nil
}

func printSynthesis(out io.Writer, s generate.Summary) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CANDIDATE\tCLASS\tSTATUS\tFAMILY\tDRAWS\tROUNDS\tFAILED")
	for _, c := range s.Candidates {
		fmt.Fprintf(w, "%04d\t%s\t%s\t%s\t%d\t%d\t%s\n", c.Candidate, dash(string(c.Class)), c.Status, dash(string(c.Family)), c.Draws, c.Rounds, dash(strings.Join(c.Failed, " ")))
	}
	asked := len(s.Rates) > 0 && s.Rates[0].Reached > 0
	if asked {
		fmt.Fprintln(w, "\nGATE\tFIRST DRAFTS\tALL ROUNDS")
	}
	for i, r := range s.Rates {
		if !asked {
			break
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Gate, share(s.First[i].Passed, s.First[i].Reached), share(r.Passed, r.Reached))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s: %d accepted", counted(len(s.Candidates), "candidate", "candidates"), s.Accepted)
	for _, status := range []generate.Status{generate.GivenUp, generate.Waiting, generate.Stopped, generate.Open} {
		if n := s.Count(status); n > 0 {
			fmt.Fprintf(out, ", %d %s", n, status)
		}
	}
	if s.Engine == generate.LM {
		fmt.Fprintf(out, "; %s, %d tokens", counted(s.Spent.Calls, "call", "calls"), s.Spent.Tokens)
	}
	fmt.Fprintf(out, "; prompt version %s\n", s.Prompt)
	for _, c := range s.Candidates {
		if c.Status == generate.Waiting {
			fmt.Fprintf(out, "%04d waits for an answer: give %s to its writer, put the answer into %s, and run the same command again\n", c.Candidate, plainLine(c.Prompt), plainLine(c.Answer))
		}
	}
	if s.Budget {
		fmt.Fprintln(out, "stopped by the budget: the next call might pass it; the same command with a larger one goes on")
	}
	if s.Accepted > 0 {
		fmt.Fprintf(out, "the accepted families are a suite: agentbound suite check %s\n", plainLine(s.Dir))
	}
	return nil
}

func share(passed, reached int) string {
	if reached == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", passed, reached)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
