package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite/seed"
)

// imported is the JSON of suite import.
type imported struct {
	Version int                      `json:"version"`
	Out     string                   `json:"out"`
	Seeds   int                      `json:"seeds"`
	Classes map[agentbound.Class]int `json:"classes"`
	Left    []seed.Left              `json:"left"`
}

func newSuiteImport(io stdio) *cobra.Command {
	o := seed.Options{Screen: screenedSeed}
	var from, class, out, format string
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "Make seeds for generate of other lists of tasks", Args: cobra.MinimumNArgs(1),
		Long: `Make a seeds file of files in the formats of AgentHarm or ToolEmu, or of plain text
(one seed a paragraph, or a line where no blank lines part them; # begins a comment).
A seed gives generate its topic, never its words.

Each seed is mapped to a class, by its category or by its words, and says how. What
cannot be mapped, is there already or must not be used is told and left out. Data that
carries a canary asks to be kept out of training: it is refused unless
--evaluation-only, which marks what is made from it "train": "never".`,
		Example: "  agentbound suite import ideas.txt --class privacy\n  agentbound suite import behaviours.json cases.json --out seeds.jsonl\n" +
			"  agentbound generate --out new --engine file --seeds seeds.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			o.From, o.Class = seed.Format(from), agentbound.Class(class)
			if from != "" && o.From.Validate() != nil {
				return usage("--from: %w", o.From.Validate())
			}
			files, err := readFiles(args)
			if err != nil {
				return plainly(err)
			}
			res, err := seed.Import(cmd.Context(), files, o)
			if err != nil {
				return plainly(coded{exitUsage, err})
			}
			if err := writeSeeds(out, res.Seeds); err != nil {
				return plainly(err)
			}
			return printImport(io.out, out, format, res)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "agentharm, toolemu or text (default: told by the content)")
	f.StringVar(&class, "class", "", "class of every seed (default: mapped)")
	f.StringVar(&out, "out", "seeds.jsonl", "file to write; it must not be there")
	f.BoolVar(&o.EvaluationOnly, "evaluation-only", false, "take data that carries a canary, marked never to be trained on")
	addFormat(cmd, &format)
	return cmd
}

func readFiles(names []string) ([]seed.File, error) {
	files := make([]seed.File, 0, len(names))
	for _, name := range names {
		b, err := readInput(name, maxInput)
		if err != nil {
			return nil, err
		}
		files = append(files, seed.File{Name: name, Data: b})
	}
	return files, nil
}

// maxInput bounds a file that is named on the command line.
const maxInput = 64 << 20

// readInput gives a file that is one and has an end: a pipe or a device may have none.
func readInput(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	if !info.Mode().IsRegular() {
		what := "no regular file (a pipe or a device)"
		if info.IsDir() {
			what = "a folder"
		}
		return nil, usage("%s is %s, and a file is wanted here; name one", name, what)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, usage("%s is larger than %s; shorten it", name, binarySize(limit))
	}
	return b, err
}

func binarySize(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// writeSeeds writes a new file; without seeds none.
func writeSeeds(name string, seeds []seed.Seed) error {
	if len(seeds) == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := seed.Write(&b, seeds); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s is there already; choose another name with --out, or remove it", name)
	}
	if err != nil {
		return usage("--out: %w; name a file in a folder that is there", err)
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

// printImport tells what came of it; without a seed the exit code is 1.
func printImport(w io.Writer, out, format string, r seed.Result) error {
	sum := imported{Version: 1, Out: out, Seeds: len(r.Seeds), Classes: map[agentbound.Class]int{}, Left: r.Left}
	for _, s := range r.Seeds {
		sum.Classes[s.Class]++
	}
	var err error
	if format == "json" {
		err = printJSON(w, sum)
	} else {
		err = tableImport(w, sum, r)
	}
	if err == nil && sum.Seeds == 0 {
		return missed()
	}
	return err
}

func tableImport(w io.Writer, sum imported, r seed.Result) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SEED\tFROM\tCLASS\tWHY")
	for _, s := range r.Seeds {
		fmt.Fprintf(tw, "%s\t%s:%d\t%s\t%s\n", s.ID, plainLine(s.Source.File), s.Source.Index, s.Class, plainLine(s.Why))
	}
	for _, l := range r.Left {
		fmt.Fprintf(tw, "left out\t%s:%d\t%s\t%s\n", plainLine(l.Source.File), l.Source.Index, l.Reason, plainLine(l.Why))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s", counted(sum.Seeds, "seed", "seeds"))
	if sum.Seeds > 0 {
		fmt.Fprintf(w, " in %s", plainLine(sum.Out))
	}
	for _, c := range slices.Sorted(maps.Keys(sum.Classes)) {
		fmt.Fprintf(w, ", %d %s", sum.Classes[c], c)
	}
	fmt.Fprintf(w, "; %d left out\n", len(r.Left))
	return nil
}
