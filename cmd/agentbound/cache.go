package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/model/budget"
	modelreplay "github.com/agentbound/agentbound/model/replay"
)

func newCache(io stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cache", Short: "List and prune the answers that run --cache keeps",
		Example: "  agentbound cache list answers\n  agentbound cache prune answers --older-than 30d",
	}
	cmd.AddCommand(newCacheList(io), newCachePrune(io))
	return cmd
}

// cacheIn opens the cache that --cache or the one argument names.
func cacheIn(io stdio, flag string, args []string) (*modelreplay.Cache, error) {
	switch {
	case flag != "" && len(args) > 0:
		return nil, usage("two caches: name one, as an argument or with --cache")
	case len(args) > 0:
		flag = args[0]
	case flag == "":
		return nil, usage("no cache: name its folder, as in agentbound cache list DIR")
	}
	c, err := modelreplay.OpenCache(flag, true, func(text string) { fmt.Fprintln(io.err, text) }, modelreplay.Options{})
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	return c, nil
}

func newCacheList(io stdio) *cobra.Command {
	var dir, format string
	cmd := &cobra.Command{
		Use: "list DIR", Short: "Say what a cache holds, by model", Args: cobra.MaximumNArgs(1),
		Example: "  agentbound cache list answers\n  agentbound cache list answers --format json",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			c, err := cacheIn(io, dir, args)
			if err != nil {
				return err
			}
			shares, damaged, err := c.List()
			if err != nil {
				return err
			}
			if damaged > 0 {
				fmt.Fprintf(io.err, "%s: the next prune removes them\n", counted(damaged, "answer is damaged", "answers are damaged"))
			}
			return printShares(io, shares, format)
		},
	}
	cmd.Flags().StringVar(&dir, "cache", "", "the cache's folder, instead of DIR")
	addFormat(cmd, &format)
	return cmd
}

func printShares(io stdio, shares []modelreplay.Share, format string) error {
	if format == "json" {
		if shares == nil {
			shares = []modelreplay.Share{}
		}
		return printJSON(io.out, shares)
	}
	w := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tENTRIES\tBYTES\tOLDEST\tNEWEST")
	for _, s := range shares {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", plainLine(s.Model), s.Entries, s.Bytes, s.Oldest.Format(time.DateTime), s.Newest.Format(time.DateTime))
	}
	return w.Flush()
}

func newCachePrune(io stdio) *cobra.Command {
	var dir, format, older, size string
	var p modelreplay.Prune
	cmd := &cobra.Command{
		Use: "prune DIR", Short: "Remove answers from a cache", Args: cobra.MaximumNArgs(1),
		Long: `Remove answers from a cache: what is older than --older-than, then the oldest until at
most --max-bytes are left, of the models that --model names; or --all. Damaged answers
go with any. Runs that use the cache may go on meanwhile.`,
		Example: "  agentbound cache prune answers --older-than 30d\n  agentbound cache prune answers --model 'compat:*' --max-bytes 100000000\n  agentbound cache prune answers --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			if err := pruning(cmd, &p, older, size); err != nil {
				return err
			}
			c, err := cacheIn(io, dir, args)
			if err != nil {
				return err
			}
			done, err := c.Prune(p)
			if err != nil {
				if errors.Is(err, fs.ErrPermission) {
					return coded{exitUsage, err}
				}
				return err
			}
			if format == "json" {
				return printJSON(io.out, done)
			}
			fmt.Fprintf(io.out, "%s removed (%d bytes), %d left (%d bytes)\n", counted(done.Entries, "answer", "answers"), done.Bytes, done.LeftEntries, done.LeftBytes)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "cache", "", "the cache's folder, instead of DIR")
	f.StringVar(&older, "older-than", "", "age, such as 30d or 12h")
	f.StringVar(&p.Model, "model", "", "of these models only; * stands for anything")
	f.StringVar(&size, "max-bytes", "", "bytes to leave at most, the newest answers, such as 500M")
	f.BoolVar(&p.All, "all", false, "everything, or everything of --model")
	addFormat(cmd, &format)
	return cmd
}

// pruning reads what to prune: nothing is removed without a bound.
func pruning(cmd *cobra.Command, p *modelreplay.Prune, older, size string) error {
	if cmd.Flags().Changed("older-than") {
		d, err := age(older)
		if err != nil {
			return err
		}
		p.OlderThan = &d
	}
	if cmd.Flags().Changed("max-bytes") {
		n, ok := budget.Count(size)
		if !ok && size != "0" {
			return usage("--max-bytes %q: want a number of bytes from 0, such as 500k, 2M or 1G", size)
		}
		p.MaxBytes = &n
	}
	if p.OlderThan == nil && p.MaxBytes == nil && !p.All {
		return usage("nothing says what to remove: --older-than, --max-bytes or --all; --model narrows it")
	}
	if p.All && (p.OlderThan != nil || p.MaxBytes != nil) {
		return usage("--all excludes --older-than and --max-bytes")
	}
	return nil
}

// age is a duration; d stands for days.
func age(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		d = time.Duration(n * float64(24*time.Hour))
		if !(n >= 0 && n < 36500) { // also not a number
			err = strconv.ErrRange
		}
	}
	if err != nil || d < 0 {
		return 0, usage("--older-than %q: want an age such as 30d, 12h or 90m", text)
	}
	return d, nil
}
