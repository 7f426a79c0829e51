package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/intervene"
)

// gatewayFlags are the verb's flags.
type gatewayFlags struct {
	upstream, corrector, listen, admin string
	onFailure, final, audit            string
	protocols                          []string
	shadow, remote                     bool
	arguments, kept                    bool
	auditSize, inFlight                int
	wait, pause, idle, timeout, grace  time.Duration
}

// What becomes of a turn that calls nothing.
const (
	finalReview = "review"
	finalPass   = "pass"
)

// noCorrector is the name under which every Thought is kept, to measure the gateway itself.
const noCorrector = "noop"

func newGateway(std stdio) *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use: "gateway --upstream URL --corrector SPEC", Short: "A corrector before any client of the four model protocols", Args: cobra.NoArgs,
		Long: `Serve the model protocols (responses, chat completions, Messages, generateContent)
as a proxy before a model server. Text and reasoning of a turn pass on as they come; its
calls, and its end, wait until the corrector has cleared the Thought. Where it changes
it, the server is asked once more, and the client reads one turn. The base URL that
clients are given is printed; their keys pass through and are kept nowhere.

Where the corrector fails, --on-failure closed, the default, holds the calls back and
tells the client so in the turn's text: whoever puts a corrector before a live agent
wants no action that it has not seen. open lets the draft pass. Both are recorded.

It ends on SIGTERM, when the requests in flight have. See docs/gateway.md.`,
		Example: `  agentbound gateway --upstream https://api.openai.com/v1 --corrector noop
  agentbound gateway --upstream http://127.0.0.1:8000/v1 --corrector noop --shadow --audit edits.jsonl --admin 127.0.0.1:9090
  agentbound gateway audit edits.jsonl --out edits.html`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), std) },
	}
	s := cmd.Flags()
	s.StringVar(&f.upstream, "upstream", "", "base URL of the model server, as its clients are given it")
	s.StringVar(&f.corrector, "corrector", "", "who corrects Thoughts: "+noCorrector+" (keeps every one), or what run --intervene takes")
	s.StringVar(&f.listen, "listen", "127.0.0.1:0", "HOST:PORT to serve clients on; port 0: any that is free")
	s.StringVar(&f.admin, "admin", "", "HOST:PORT of loopback for /healthz, /readyz, /metrics and /audit; empty: the first three beside the protocols")
	s.StringSliceVar(&f.protocols, "protocol", nil, "serve these alone: "+protocolNames())
	s.StringVar(&f.onFailure, "on-failure", string(intervene.Closed), "where the corrector fails: closed (hold the calls back, and say so) or open (let the draft pass)")
	s.StringVar(&f.final, "final", finalReview, "turns that call nothing: review (they are decisions too) or pass")
	s.BoolVar(&f.shadow, "shadow", false, "pass everything as it comes, and only record what would have become of it")
	s.StringVar(&f.audit, "audit", "", "append every edit and failure to this file, a line each")
	s.IntVar(&f.auditSize, "audit-size", 64, "put the audit file aside when it is this large, in MiB; 0: never")
	s.BoolVar(&f.arguments, "audit-arguments", false, "keep the arguments of calls in the audit log too")
	s.BoolVar(&f.kept, "audit-kept", false, "enter turns that were kept too")
	s.IntVar(&f.inFlight, "max-in-flight", 256, "requests at a time; more are told to come back")
	s.DurationVar(&f.wait, "corrector-timeout", 10*time.Second, "how long a correction may take, its one retry and all")
	s.DurationVar(&f.pause, "corrector-pause", 10*time.Second, "how long a corrector that failed five times in a row is not asked, until it is tried again; 0: ask it always")
	s.DurationVar(&f.idle, "idle-timeout", 10*time.Minute, "how long the server may send nothing")
	s.DurationVar(&f.timeout, "timeout", time.Hour, "how long a request may take")
	s.DurationVar(&f.grace, "grace", time.Minute, "how long requests in flight may take when the gateway is told to end")
	s.BoolVar(&f.remote, "allow-remote", false, "listen for clients on an address that is not loopback's; keys and texts pass in the clear")
	cmd.AddCommand(newGatewayAudit(std))
	return cmd
}

func protocolNames() string {
	var names []string
	for _, p := range wire.Protocols() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

// corrector resolves what --corrector names.
func (r rooms) corrector(spec string) (intervene.Intervention, error) {
	if spec == noCorrector {
		return intervene.Intervention{Ref: intervene.None().Ref}, nil
	}
	o, err := interveneRequest{}.intervening(modelOptions{live: true}, spec)
	if err != nil {
		return intervene.Intervention{}, err
	}
	return r.intervention(spec, o)
}

// options checks the flags.
func (f *gatewayFlags) options() (o gateway.Options, err error) {
	switch {
	case f.upstream == "":
		return o, usage("--upstream is needed: the base URL of the model server, as https://api.openai.com/v1")
	case f.corrector == "":
		return o, usage("--corrector is needed: who corrects Thoughts; %s keeps every one", noCorrector)
	case f.final != finalReview && f.final != finalPass:
		return o, usage("--final %q is not known; accepted: %s, %s", f.final, finalReview, finalPass)
	case f.onFailure != string(intervene.Open) && f.onFailure != string(intervene.Closed):
		return o, usage("--on-failure %q is not known; accepted: %s, %s", f.onFailure, intervene.Closed, intervene.Open)
	case f.auditSize < 0 || f.inFlight < 1 || f.wait <= 0 || f.pause < 0 || f.idle <= 0 || f.timeout <= 0 || f.grace <= 0:
		return o, usage("--audit-size and --corrector-pause are not less than 0; --max-in-flight and the other times are more than 0")
	case f.audit == "" && (f.arguments || f.kept):
		return o, usage("--audit-arguments and --audit-kept say what is kept in the file of --audit, which is not given")
	}
	u, err := url.Parse(f.upstream)
	if err != nil { // it repeats no part of the address, which may hold a key
		return o, usage("--upstream is no URL")
	}
	for _, p := range f.protocols {
		if !slices.Contains(wire.Protocols(), wire.Protocol(p)) {
			return o, usage("--protocol %q is not known; accepted: %s", p, protocolNames())
		}
		o.Protocols = append(o.Protocols, wire.Protocol(p))
	}
	if o.Intervention, err = newRooms().corrector(f.corrector); err != nil {
		return o, err
	}
	o.Intervention.OnFailure = intervene.OnFailure(f.onFailure)
	o.Upstream, o.Shadow, o.PassFinal, o.AuditKept, o.Arguments = u, f.shadow, f.final == finalPass, f.kept, f.arguments
	o.InFlight, o.Corrector, o.Idle, o.Timeout, o.Grace = f.inFlight, f.wait, f.idle, f.timeout, f.grace
	if o.Pause = f.pause; f.pause == 0 {
		o.Pause = -1 // none
	}
	return o, nil
}

func (f *gatewayFlags) run(ctx context.Context, std stdio) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	o.Log = slog.New(slog.NewTextHandler(std.err, nil))
	clients, err := listenAt(ctx, "--listen", f.listen, f.remote)
	if err != nil {
		return err
	}
	defer clients.Close()
	var admin net.Listener
	if f.admin != "" {
		if admin, err = listenAt(ctx, "--admin", f.admin, false); err != nil {
			return err
		}
		defer admin.Close()
	}
	if f.audit != "" {
		if o.Audit, err = gateway.OpenAudit(f.audit, int64(f.auditSize)<<20); err != nil {
			return err
		}
		defer o.Audit.Close()
	}
	g, err := gateway.New(o)
	if err != nil {
		return coded{exitUsage, err}
	}
	fmt.Fprintln(std.out, g.At(clients.Addr().String()))
	if admin != nil {
		fmt.Fprintf(std.err, "admin: http://%s/\n", admin.Addr())
	}
	return g.Serve(ctx, clients, admin)
}

// listenAt listens at an address, which is loopback's unless that is lifted.
func listenAt(ctx context.Context, flag, address string, remote bool) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, usage("%s %q: %w", flag, address, err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !remote && (!ok || !tcp.IP.IsLoopback()) {
		l.Close()
		why := ""
		if flag == "--listen" {
			why = "; --allow-remote lifts that, where something else keeps strangers away and encrypts"
		}
		return nil, usage("%s %q is not loopback's%s", flag, address, why)
	}
	return l, nil
}

func newGatewayAudit(std stdio) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "audit FILE", Short: "Read an audit log: as a page, or as lines", Args: cobra.ExactArgs(1),
		Example: "  agentbound gateway audit edits.jsonl --out edits.html",
		RunE: func(_ *cobra.Command, args []string) error {
			entries, unread, err := gateway.ReadAudit(args[0])
			if errors.Is(err, os.ErrNotExist) {
				return coded{exitUsage, err}
			}
			if err != nil {
				return err
			}
			for _, line := range unread {
				fmt.Fprintln(std.err, "cannot be read: "+plainLine(line))
			}
			if out == "" {
				return auditLines(std, entries)
			}
			return writePage(out, entries, unread)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write a page to this file")
	return cmd
}

func writePage(path string, entries []gateway.Entry, unread []string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = gateway.WritePage(f, entries, unread)
	return errors.Join(err, f.Close())
}

// auditLines tells a log in short.
func auditLines(std stdio, entries []gateway.Entry) error {
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		after := "-"
		if e.After != nil {
			after = calledNames(e.After.Calls)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s → %s\t%s\n", e.Time.UTC().Format(time.DateTime), plainLine(e.Mode), plainLine(string(e.Result)), plainLine(e.Protocol), calledNames(e.Before.Calls), after, dash(plainLine(e.Failure)))
	}
	return w.Flush()
}

func calledNames(all []gateway.Called) string {
	var names []string
	for _, c := range all {
		names = append(names, plainLine(c.Tool))
	}
	return dash(strings.Join(names, ","))
}
