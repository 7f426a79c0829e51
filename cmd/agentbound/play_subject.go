package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
)

// playServer is the client side's flags.
type playServer struct{ server, wait string }

func addSubject(cmd *cobra.Command, s *playServer) {
	cmd.Flags().StringVar(&s.server, "server", "", "HOST:PORT or socket of the server (default $"+serverEnv+", or "+play.DefaultServer+")")
	cmd.Flags().StringVar(&s.wait, "wait", "0s", "how long to wait for a server that is being started")
}

func (s playServer) client() (*play.Client, error) {
	wait, err := time.ParseDuration(s.wait)
	if err != nil || wait < 0 {
		return nil, usage("--wait %q: want a duration such as 10s", s.wait)
	}
	return &play.Client{Server: cmp.Or(s.server, os.Getenv(serverEnv), play.DefaultServer), Wait: wait}, nil
}

// told gives an answer that is no success its exit code.
func told(err error) error {
	var e *play.Error
	if errors.As(err, &e) && e.Code != play.Failed && e.Code != play.Busy {
		return coded{exitUsage, err}
	}
	return err
}

func newPlayStart(std stdio) *cobra.Command {
	var s playServer
	cmd := &cobra.Command{
		Use: "start ID", Short: "Subject: begin a sealed task, or go on with it", Args: cobra.ExactArgs(1),
		Long:    "Begin the task of a sealed id. What it prints says all that is needed. Given again with\nthe same id it goes on with the session and shows what was done so far.",
		Example: "  agentbound play start 5f0c9e0d6a1b4c2e8f7d3a9b6c5e4f10",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := s.client()
			if err != nil {
				return err
			}
			o, err := client.Start(cmd.Context(), args[0])
			if err != nil {
				return told(err)
			}
			flags := ""
			if s.server != "" {
				flags = " --server " + shellWord(s.server)
			}
			o.How = play.How(shellWord(os.Args[0])+" play", flags, o)
			return printJSON(std.out, o)
		},
	}
	addSubject(cmd, &s)
	return cmd
}

// shellWord makes a word for a shell of what is none.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("./:_-", r)
	}
	if s != "" && !slices.ContainsFunc([]rune(s), func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func newPlayCall(std stdio) *cobra.Command {
	var s playServer
	var thought string
	cmd := &cobra.Command{
		Use: "call SESSION TOOL JSON", Short: "Subject: call a tool; prints the observation", Args: cobra.ExactArgs(3),
		Long:    "Call a tool with the JSON object of its arguments, - to read it from standard input. The\nobservation is printed as JSON.",
		Example: "  agentbound play call 9f2c… find_contact '{\"name\": \"Northwind\"}' --thought 'I need their address.'",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := s.client()
			if err != nil {
				return err
			}
			json := []byte(args[2])
			if args[2] == "-" {
				if json, err = io.ReadAll(std.in); err != nil {
					return err
				}
			}
			a, err := client.Call(cmd.Context(), play.Call{Session: args[0], Tool: args[1], Args: json, Thought: thought})
			switch {
			case err != nil:
				return told(err)
			case a.Revise != nil:
				return printJSON(std.out, a)
			}
			fmt.Fprintln(std.out, a.Observation)
			return nil
		},
	}
	addSubject(cmd, &s)
	cmd.Flags().StringVar(&thought, "thought", "", "one or two sentences: what you make of what you saw, and why this call")
	return cmd
}

func newPlayFinish(std stdio) *cobra.Command {
	var s playServer
	var f play.Finish
	var outcome string
	cmd := &cobra.Command{
		Use: "finish SESSION --outcome OUTCOME", Short: "Subject: end a session", Args: cobra.ExactArgs(1),
		Long:    "End a session with its outcome: done (I did it), declined (I should not do it) or unable (I\ncould not do it).",
		Example: "  agentbound play finish 9f2c… --outcome done --reason 'Both steps are carried out.' --answer 'It is delivered and logged.'",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := s.client()
			if err != nil {
				return err
			}
			f.Session, f.Outcome = args[0], agentbound.Word(outcome)
			r, err := client.Finish(cmd.Context(), f)
			if err != nil {
				return told(err)
			}
			b, err := agentbound.EncodeJSON(r)
			fmt.Fprintln(std.out, string(b))
			return err
		},
	}
	addSubject(cmd, &s)
	cmd.Flags().StringVar(&outcome, "outcome", "", "done, declined or unable")
	cmd.Flags().StringVar(&f.Reason, "reason", "", "why")
	cmd.Flags().StringVar(&f.Answer, "answer", "", "what to tell whoever asked")
	cmd.Flags().StringVar(&f.Thought, "thought", "", "one or two sentences; the reason where it is left out")
	return cmd
}
