package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/reading"
)

// Names in the folder of a round of reading.
const (
	sheetsDir  = "sheets"
	answersDir = "answers"

	answersFile = "answers.jsonl" // in its place: an answer a line, with its sheet
	keyFile     = "key.jsonl"
)

func newSuiteReading(io stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use: "reading", Short: "Blind reading: sheets for readers who see one task alone, and what they said",
		Long: "Blind reading of a suite by people or models. sheets writes one Markdown file a task and reader, under\n" +
			"opaque names, and the key that stays with you; readers put answers/<sheet>.json beside them; score counts.",
	}
	cmd.AddCommand(newReadingSheets(io), newReadingScore(io))
	return cmd
}

func newReadingSheets(io stdio) *cobra.Command {
	var out, splits string
	var sample, readers int
	var seed uint64
	cmd := &cobra.Command{
		Use: "sheets [SUITE]", Short: "Write the sheets of a round", Args: cobra.MaximumNArgs(1),
		Example: "  agentbound suite reading sheets ./my-suite --sample 40 --out round-1",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := suiteArg(args)
			if err != nil {
				return err
			}
			if readers < 1 || sample < 0 {
				return usage("--readers %d, --sample %d; accepted: 1 to %d readers, a sample from 0, which is all", readers, sample, reading.MaxReaders)
			}
			if sample > 0 {
				if s, err = s.Draw(s.Name+"-sample", sample); err != nil {
					return usage("--sample: %w", err)
				}
			}
			o := reading.Options{Readers: readers, Seed: seed}
			for _, name := range strings.Split(splits, ",") {
				split := agentbound.Split(strings.TrimSpace(name))
				if err := split.Validate(); err != nil {
					return usage("--splits: %w", err)
				}
				o.Splits = append(o.Splits, split)
			}
			return plainly(writeSheets(cmd, io.out, s, o, out))
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "new folder of the round")
	f.StringVar(&splits, "splits", "hs,cm,eb,hb", "which tasks of a family are read")
	f.IntVar(&sample, "sample", 0, "read this many families, stratified by class; 0: all")
	f.IntVar(&readers, "readers", 2, "readers of each task")
	f.Uint64Var(&seed, "seed", 0, "decides the sheets' names, and so their order")
	_ = cmd.MarkFlagRequired("out") // the flag is declared above
	return cmd
}

func writeSheets(cmd *cobra.Command, out io.Writer, s *suite.Suite, o reading.Options, dir string) error {
	sheets, keys, err := reading.Sheets(cmd.Context(), s.Families, o)
	if err != nil && cmd.Context().Err() == nil {
		return coded{exitUsage, err} // of the options, or of a suite that cannot be played
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return usage("--out: %w; name a new folder", err)
	}
	for _, sub := range []string{sheetsDir, answersDir} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	for _, sheet := range sheets {
		if err := os.WriteFile(filepath.Join(dir, sheetsDir, sheet.ID+".md"), []byte(sheet.Text), 0o644); err != nil {
			return err
		}
	}
	var key bytes.Buffer
	for _, k := range keys {
		line, err := agentbound.EncodeJSON(k)
		if err != nil {
			return err
		}
		key.Write(append(line, '\n'))
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), key.Bytes(), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d sheets of %d families in %s; answers go to %s/<sheet>.json\n", len(sheets), len(s.Families),
		plainLine(filepath.Join(dir, sheetsDir)), plainLine(filepath.Join(dir, answersDir)))
	fmt.Fprintf(out, "%s says which sheet is which task: keep it from the readers\n", plainLine(filepath.Join(dir, keyFile)))
	return nil
}

func newReadingScore(io stdio) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "score FOLDER", Short: "Count what readers said", Args: cobra.ExactArgs(1),
		Example: "  agentbound suite reading score round-1\n  agentbound suite reading score round-1 --format json",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "markdown", "json"); err != nil {
				return err
			}
			keys, err := readKeys(filepath.Join(args[0], keyFile))
			if err != nil {
				return plainly(err)
			}
			answers, strays, faults := readAnswers(args[0], keys)
			tellStrays(io.err, strays)
			if answers != nil {
				err = printScore(io.out, reading.Score(keys, answers), format)
			}
			if err == nil && len(faults) > 0 {
				err = plainly(coded{exitUsage, errors.Join(faults...)})
			}
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, markdown or json")
	return cmd
}

func printScore(out io.Writer, r reading.Result, format string) error {
	if format == "json" {
		return printJSON(out, r)
	}
	return printReading(out, r, format == "markdown")
}

func readKeys(file string) ([]reading.Key, error) {
	b, err := readInput(file, maxInput)
	if err != nil {
		return nil, coded{exitUsage, fmt.Errorf("%w; name the folder that suite reading sheets made", err)}
	}
	keys, err := reading.ReadKeys(file, b)
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	return keys, nil
}

// maxReply bounds an answer's file.
const maxReply = 1 << 20

// readAnswers gives the answers by sheet, the files beside them that are no sheet's, and
// what is wrong with those that are: none of that stops the others from being counted.
func readAnswers(dir string, keys []reading.Key) (answers map[string]reading.Answer, strays []string, faults []error) {
	folder := filepath.Join(dir, answersDir)
	if file := filepath.Join(dir, answersFile); isFile(file) {
		b, err := readInput(file, maxInput)
		if err != nil {
			return nil, nil, []error{err}
		}
		answers, faults = reading.ParseAnswers(file, b, keys)
		return answers, nil, faults
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, []error{fmt.Errorf("%w; readers' answers go to %s", err, filepath.Join(folder, "<sheet>.json"))}
	}
	answers = map[string]reading.Answer{}
	sheets := map[string]bool{}
	for _, k := range keys {
		sheets[k.Sheet] = true
	}
	for _, e := range entries {
		sheet, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !sheets[sheet] {
			if !strings.HasPrefix(e.Name(), ".") {
				strays = append(strays, filepath.Join(folder, e.Name()))
			}
			continue
		}
		file := filepath.Join(folder, e.Name())
		b, err := readInput(file, maxReply)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if answers[sheet], err = reading.ParseAnswer(b); err != nil {
			delete(answers, sheet)
			faults = append(faults, fmt.Errorf("%s: %w", file, err))
		}
	}
	return answers, strays, faults
}

// meanAlarm is a dash where nobody answered: that is no calm.
func meanAlarm(row reading.Row) string {
	if row.Answers == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", row.Alarm)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// tellStrays names files that would otherwise be missed in silence.
func tellStrays(w io.Writer, strays []string) {
	const most = 10
	for _, name := range strays[:min(most, len(strays))] {
		fmt.Fprintf(w, "%s is no sheet's answer, and is not counted: answers are named as their sheet, <sheet>.json\n", plainLine(name))
	}
	if more := len(strays) - most; more > 0 {
		fmt.Fprintf(w, "and %d more files that are no sheet's answer\n", more)
	}
}

func printReading(out io.Writer, r reading.Result, markdown bool) error {
	fmt.Fprintf(out, "%d of %d sheets answered; %d tasks of %d families\n\n", r.Answered, r.Sheets, r.Tasks, r.Families)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head, line, rule := "SPLIT\tANSWERS\tAS THE FACTS\tCONTRARY\tUNCLEAR\tDECIDABLE\tMEAN ALARM\n", "%s\t%d\t%d\t%d\t%d\t%d\t%s\n", ""
	if markdown {
		head, line, rule = "| split | answers | as the facts | contrary | unclear | decidable | mean alarm |\n", "| %s | %d | %d | %d | %d | %d | %s |\n", "|---|---|---|---|---|---|---|\n"
	}
	fmt.Fprint(w, head+rule)
	for _, row := range r.Rows {
		fmt.Fprintf(w, line, row.Split, row.Answers, row.Right, row.Wrong, row.Unclear, row.Decidable, meanAlarm(row))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Pairs > 0 {
		fmt.Fprintf(out, "\nTwo readers of a task agree on %d of %d (kappa %.2f).\n", r.Agree, r.Pairs, r.Kappa)
	}
	printDoubts(out, "In doubt", r.Doubts)
	printDoubts(out, "Remarks", r.Remarks)
	return nil
}

func printDoubts(out io.Writer, title string, doubts []reading.Doubt) {
	if len(doubts) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n\n", title)
	for _, d := range doubts {
		fmt.Fprintf(out, "- %s\n", d.Task)
		for _, a := range d.Answers {
			decidable := ""
			if !a.Decidable {
				decidable = ", not decidable"
			}
			fmt.Fprintf(out, "  - permitted %s, alarm %d%s; by: %s\n", a.Permitted, a.Alarm, decidable, plainLine(a.By))
			if a.Remarks != "" {
				fmt.Fprintf(out, "    %s\n", plainLine(a.Remarks))
			}
		}
	}
}
