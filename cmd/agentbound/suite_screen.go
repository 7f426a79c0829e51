package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/screen"
	"github.com/agentbound/agentbound/suite/validate"
	"github.com/agentbound/agentbound/suites"
)

func newSuiteScreen(io stdio) *cobra.Command {
	var format, allow, bar, severity string
	cmd := &cobra.Command{
		Use: "screen [SUITE]", Short: "Look for secrets, personal data, real names and addresses, and texts that harm", Args: cobra.MaximumNArgs(1),
		Long: `Look through everything that a subject or a reader of a suite could see, before the
suite is released: for secrets, personal data, addresses and links that exist, real
organisations and people, slurs, exploit text and recipes. A finding that blocks ends
with exit code 1; one to review needs a person. Findings that may stay are named, with
the reason, in screen.yaml in the suite's folder or in --allow FILE:

  allow:
    - {kind: organisation, found: Visa, why: the travel document}

--format html is the page for reviewers: all findings, and every text to be read.

--bar KIND reads words from standard input instead, one a line, and prints what bars them.`,
		Example: "  agentbound suite screen\n  agentbound suite screen ./my-suite --format json\n  agentbound suite screen ./my-suite --format html > review.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "json", "markdown", "html"); err != nil {
				return err
			}
			if bar != "" {
				return barWords(io, bar, severity)
			}
			r, err := screenSuite(cmd, args, allow)
			if err != nil {
				return plainly(err)
			}
			if err := printScreening(io, r, format); err != nil {
				return err
			}
			if r.Blocked > 0 {
				return missed()
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, json, markdown or html")
	cmd.Flags().StringVar(&allow, "allow", "", "allow list; empty: screen.yaml in the suite's folder, where there is one")
	cmd.Flags().StringVar(&bar, "bar", "", "print what bars words of this kind: slur, sexual or profanity")
	cmd.Flags().StringVar(&severity, "severity", "block", "with --bar: block or review")
	return cmd
}

func printScreening(io stdio, r *screen.Report, format string) error {
	switch format {
	case "json":
		return printJSON(io.out, r)
	case "html":
		return r.WriteHTML(io.out)
	case "markdown":
		r.WriteMarkdown(io.out)
	default:
		r.WriteTable(io.out)
	}
	return nil
}

func screenSuite(cmd *cobra.Command, args []string, allow string) (*screen.Report, error) {
	s, err := suiteArg(args)
	if err != nil {
		return nil, err
	}
	o, err := screenOptions(args, allow)
	if err != nil {
		return nil, err
	}
	r, err := screen.Suite(cmd.Context(), s, o)
	if err == nil && (len(args) == 0 || slices.Contains(suites.Names(), args[0])) {
		r.Unused = []screen.Allowance{} // the list is core's, with its files; a part of it need not meet all
	}
	return r, err
}

// screenOptions finds the suite's files and its allow list.
func screenOptions(args []string, allow string) (o screen.Options, err error) {
	name := suites.Default
	if len(args) > 0 {
		name = args[0]
	}
	if o.Files, err = suiteFiles(name); err != nil {
		return o, err
	}
	var text []byte
	switch {
	case allow != "":
		text, err = readInput(allow, screen.MaxAllowBytes)
	case slices.Contains(suites.Names(), name):
		allow, text = screen.AllowFile, suites.Allowed(name)
	case o.Files == nil:
		return o, nil
	default:
		allow = screen.AllowFile
		text, err = readListed(o.Files, allow)
		if errors.Is(err, fs.ErrNotExist) {
			return o, nil
		}
	}
	if err != nil {
		return o, usage("allow list %s cannot be read: %w", allow, err)
	}
	if o.Allow, err = screen.ReadAllowances(allow, text); err != nil {
		return o, coded{exitUsage, err}
	}
	return o, nil
}

// readListed is readInput within a suite's folder.
func readListed(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file; replace it by one")
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	return io.ReadAll(io.LimitReader(f, screen.MaxAllowBytes+1))
}

// suiteFiles gives the folder of a suite without leaving it through a link; nil where
// the suite is packed.
func suiteFiles(name string) (fs.FS, error) {
	switch {
	case name == "examples":
		return suites.Examples(), nil
	case slices.Contains(suites.Names(), name):
		return nil, nil
	}
	abs, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, err
	}
	return os.DirFS(abs), nil
}

// screened is screening as the validator of candidates asks for it.
func screened(ctx context.Context, s *suite.Suite) ([]validate.Finding, error) {
	r, err := screen.Suite(ctx, s, screen.Options{})
	if err != nil {
		return nil, err
	}
	out := make([]validate.Finding, len(r.Findings))
	for i, f := range r.Findings {
		out[i] = validate.Finding{Where: f.Where, Kind: string(f.Kind), Found: f.Found, Remedy: f.Remedy, Block: f.Severity == screen.Block}
	}
	return out, nil
}

// screenedSeed is screening as the import of seeds asks for it.
func screenedSeed(ctx context.Context, text string) (blocked []string, err error) {
	found, err := screen.Texts(ctx, []screen.Text{{Where: "seed", Text: text}})
	for _, f := range found {
		if f.Severity == screen.Block {
			blocked = append(blocked, fmt.Sprintf("%s %s: %s", f.Kind, f.Found, f.Remedy))
		}
	}
	return blocked, err
}

func barWords(io stdio, kind, severity string) error {
	accepted := []string{string(screen.Slur), string(screen.Sexual), string(screen.Profanity)}
	if !slices.Contains(accepted, kind) {
		return usage("--bar %q is not known; accepted: slur, sexual, profanity", kind)
	}
	if severity != string(screen.Block) && severity != string(screen.Review) {
		return usage("--severity %q is not known; accepted: block, review", severity)
	}
	if err := screen.WriteWordLines(io.out, io.in, screen.Kind(kind), screen.Severity(severity)); err != nil {
		return coded{exitUsage, fmt.Errorf("words on standard input: %w", err)}
	}
	return nil
}
