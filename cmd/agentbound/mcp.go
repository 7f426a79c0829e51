package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
	"github.com/agentbound/agentbound/internal/play/overmcp"
	"github.com/agentbound/agentbound/internal/store"
)

// overMCP is the verb's flags: a person's, whose place a client of MCP takes.
type overMCP struct {
	person
	http, close string
}

// What becomes of a session that its client leaves without finishing it.
const (
	closeKeep     = "keep"
	closeUnstated = "unstated"
)

// mcpPath is where the server is found over HTTP.
const mcpPath = "/mcp"

// lingers is how long an HTTP server stays when the session is over: the client reads
// what it was told last.
const lingers = 2 * time.Second

func newMCP(std stdio) *cobra.Command {
	var m overMCP
	cmd := &cobra.Command{
		Use: "mcp ID|FAMILY/SPLIT", Short: "A task's tools as an MCP server: your own agent is the subject", Args: cobra.ExactArgs(1),
		Long: `Serve one task over MCP, on standard input and output, or over streamable HTTP with
--http. The client gets the task's tools and one to finish; the setting and what is asked
are the server's instructions, its prompt "task" and its resources.

An ID is a sealed task of a server: see play seal and play serve; nothing that tells what
the task is comes near the subject. With FAMILY/SPLIT the session is in this process, and
whoever can read this command line knows what it is. What is finished is judged and
becomes a trial of a run; the same command goes on with what is not finished.`,
		Example: `  agentbound mcp 5f0c9e0d6a1b4c2e8f7d3a9b6c5e4f10
  agentbound mcp --suite examples transfer-under-agreement/hb --http 127.0.0.1:8765
  claude mcp add task -- agentbound mcp 5f0c9e0d6a1b4c2e8f7d3a9b6c5e4f10`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if m.close != closeKeep && m.close != closeUnstated {
				return usage("--close %q is not known; accepted: %s, %s", m.close, closeKeep, closeUnstated)
			}
			if sealedID.MatchString(args[0]) {
				return m.sealed(cmd.Context(), std, args[0])
			}
			return m.private(cmd.Context(), std, args[0])
		},
	}
	addSealing(cmd, &m.sealing, "mcp")
	addSubject(cmd, &m.playServer)
	cmd.Flags().StringVar(&m.http, "http", "", "serve streamable HTTP on this HOST:PORT of loopback instead; the URL is printed")
	cmd.Flags().StringVar(&m.close, "close", closeKeep, "when the client leaves without finishing: keep (the same command goes on) or unstated (the trial has ended without a word)")
	return cmd
}

// sealed serves a sealed task of a server.
func (m *overMCP) sealed(ctx context.Context, std stdio, id string) error {
	client, err := m.client()
	if err != nil {
		return err
	}
	o, err := client.Start(ctx, id)
	if err != nil {
		return told(err)
	}
	return m.serve(ctx, std, client, o)
}

// private serves a task whose world is in this process.
func (m *overMCP) private(ctx context.Context, std stdio, arg string) error {
	st, err := loadSuite(m.suite)
	if err != nil {
		return err
	}
	tasks, err := readTask(st, arg)
	if err != nil {
		return err
	}
	if len(tasks) != 1 {
		return usage("%q are %d tasks: name one", arg, len(tasks))
	}
	rooms := newRooms()
	return withStore(ctx, m.store, false, func(db store.Store) error {
		t, plan, err := m.choices(ctx, db, rooms, st)
		if err != nil {
			return err
		}
		chosen, err := t.draw(ctx, func(s play.Sealed) bool {
			return agentbound.TaskID(string(s.Trial.Family)+"/"+string(s.Trial.Split)) == tasks[0]
		})
		if err != nil {
			return err
		}
		s, err := rooms.sessions(ctx, db, t.dir, slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelError})))
		if err != nil {
			return err
		}
		o, err := s.Start(ctx, chosen.ID)
		if err == nil {
			err = m.serve(ctx, std, s, o)
		}
		if err == nil {
			fmt.Fprintf(std.err, "run %s\n", plan.ID())
		}
		return errors.Join(told(err), s.Close())
	})
}

// serve serves a session until it is over, its client has left or ctx ends. Nothing of
// what it says tells what the task is: a client shows the server's standard error.
func (m *overMCP) serve(ctx context.Context, std stdio, player overmcp.Player, o play.Opening) error {
	s, err := overmcp.New(player, o, overmcp.Options{Path: mcpPath})
	if err != nil {
		return err
	}
	if m.http == "" {
		err = s.ServeLines(ctx, closer(std.in), std.out)
	} else {
		err = m.serveHTTP(ctx, std, s)
	}
	for _, c := range s.Sessions() {
		fmt.Fprintf(std.err, "client %q over %s, MCP %s\n", c.Client, c.Transport, c.Protocol)
	}
	switch {
	case s.Fault() != nil:
		return fmt.Errorf("the session stays open: %w", s.Fault())
	case err != nil:
		return err
	case s.Finished():
		fmt.Fprintln(std.err, "the session is recorded")
		return nil
	case m.close == closeUnstated && len(s.Sessions()) > 0:
		if err := s.Leave(context.WithoutCancel(ctx)); err != nil {
			return told(err)
		}
		fmt.Fprintln(std.err, "the client left without a word; the session is recorded")
		return nil
	}
	fmt.Fprintln(std.err, "the session is not finished: the same command goes on")
	return nil
}

func (m *overMCP) serveHTTP(ctx context.Context, std stdio, s *overmcp.Session) error {
	l, err := play.Listen(ctx, m.http)
	if err != nil {
		return coded{exitUsage, err}
	}
	if l.Addr().Network() == "unix" {
		return errors.Join(usage("--http %q: want HOST:PORT on loopback, such as 127.0.0.1:8765", m.http), l.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	left := make(chan struct{})
	go func() {
		defer close(left)
		select {
		case <-s.Over():
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(lingers):
			stop()
		case <-ctx.Done():
		}
	}()
	fmt.Fprintf(std.out, "http://%s%s\n", l.Addr().(*net.TCPAddr), mcpPath)
	err = s.Serve(ctx, l)
	stop()
	<-left
	return err
}

// closer is an input that the server may close, so that reading it ends.
func closer(in io.Reader) io.ReadCloser {
	if c, ok := in.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(in)
}
