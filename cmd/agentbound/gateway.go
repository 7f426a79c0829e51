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

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/intervene/aligner"
	"github.com/agentbound/agentbound/intervene/guardagent"
	"github.com/agentbound/agentbound/model/file"
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

It ends on SIGTERM, when the requests in flight have. See docs/gateway.md.

` + correctorHelp(),
		Example: `  agentbound gateway --upstream https://api.openai.com/v1 --corrector noop
  agentbound gateway --upstream http://127.0.0.1:8000/v1 --corrector noop --shadow --audit edits.jsonl --admin 127.0.0.1:9090
  agentbound gateway audit edits.jsonl --out edits.html`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), std) },
	}
	s := cmd.Flags()
	s.StringVar(&f.upstream, "upstream", "", "base URL of the model server, as its clients are given it")
	s.StringVar(&f.corrector, "corrector", "", "who corrects Thoughts: see above")
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

// correctors are the interventions that can stand in the gateway.
func correctors() []column {
	return slices.DeleteFunc(columns(), func(c column) bool { return c.name == agentbound.Bare || c.name == guardagent.Name })
}

func correctorForms() string {
	forms := []string{noCorrector}
	for _, c := range correctors() {
		forms = append(forms, c.form)
	}
	return strings.Join(forms, ", ")
}

// correctorHelp lists them for --help.
func correctorHelp() string {
	text := "What --corrector takes (docs/calibrator.md); a MODEL is named as for run --agent:\n  " + noCorrector + ": keeps every Thought, to measure the gateway itself; needs nothing\n"
	for _, c := range correctors() {
		text += fmt.Sprintf("  %s: %s; needs %s\n", c.form, c.about, c.needs)
	}
	return text
}

// corrector resolves what --corrector names.
func (r rooms) corrector(spec string) (intervene.Intervention, error) {
	name, model, named := strings.Cut(spec, ":")
	known := slices.ContainsFunc(correctors(), func(c column) bool { return c.name == name })
	answers, _, _ := strings.Cut(model, ":")
	switch {
	case name == noCorrector && named:
		return intervene.Intervention{}, usage("--corrector %s takes no model", name)
	case name == noCorrector:
		return intervene.Intervention{Ref: agentbound.Intervention{Name: noCorrector}}, nil
	case name == agentbound.Bare:
		return intervene.Intervention{}, usage("--corrector %s is no corrector; use %s, which keeps every Thought", name, noCorrector)
	case name == guardagent.Name:
		return intervene.Intervention{}, usage("--corrector %s is a gate, which decides on each call as it is executed: the client executes them, out of sight; accepted: %s", name, correctorForms())
	case name == file.Scheme || known && answers == file.Scheme:
		return intervene.Intervention{}, usage("--corrector %s: answers by file are handed in later, and a live agent cannot wait for them; name a model that answers at once, as %s:compat:MODEL@BASE_URL", spec, aligner.Ours)
	case !known:
		return intervene.Intervention{}, usage("--corrector %q is not known; accepted: %s", name, correctorForms())
	}
	o, err := interveneRequest{}.intervening(modelOptions{live: true}, spec)
	if err != nil {
		return intervene.Intervention{}, err
	}
	o.flag = "--corrector"
	return r.intervention(spec, o)
}

// upstreamURL reads --upstream. Errors repeat no part of it that could be a key.
func upstreamURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, usage("--upstream is no http or https URL; it is the base URL of the model server, as https://api.openai.com/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, usage("--upstream %s://%s…: a base URL has no user name, query or fragment; clients show their keys in headers", u.Scheme, u.Host)
	}
	return u, nil
}

// options checks the flags.
func (f *gatewayFlags) options() (o gateway.Options, err error) {
	switch {
	case f.upstream == "":
		return o, usage("--upstream is needed: the base URL of the model server, as https://api.openai.com/v1")
	case f.corrector == "":
		return o, usage("--corrector is needed: who corrects Thoughts; accepted: %s", correctorForms())
	case f.final != finalReview && f.final != finalPass:
		return o, usage("--final %q is not known; accepted: %s, %s", f.final, finalReview, finalPass)
	case f.onFailure != string(intervene.Open) && f.onFailure != string(intervene.Closed):
		return o, usage("--on-failure %q is not known; accepted: %s, %s", f.onFailure, intervene.Closed, intervene.Open)
	case f.auditSize < 0 || f.inFlight < 1 || f.wait <= 0 || f.pause < 0 || f.idle <= 0 || f.timeout <= 0 || f.grace <= 0:
		return o, usage("--audit-size and --corrector-pause are not less than 0; --max-in-flight and the other times are more than 0")
	case f.audit == "" && (f.arguments || f.kept):
		return o, usage("--audit-arguments and --audit-kept say what is kept in the file of --audit, which is not given")
	case f.audit == "" && f.shadow:
		return o, usage("--shadow changes nothing, and only records what would have become of turns: say where, with --audit FILE")
	}
	u, err := upstreamURL(f.upstream)
	if err != nil {
		return o, err
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
	fmt.Fprintln(std.err, f.told(o))
	fmt.Fprintln(std.out, g.At(clients.Addr().String()))
	if admin != nil {
		fmt.Fprintf(std.err, "admin: http://%s/\n", admin.Addr())
	}
	return g.Serve(ctx, clients, admin)
}

// told says in a line how turns are treated.
func (f *gatewayFlags) told(o gateway.Options) string {
	how := "live; where it fails: " + string(o.Intervention.OnFailure)
	if o.Shadow {
		how = "shadow: every turn passes as it comes, nothing is changed or held back"
	}
	audit := "; no audit log"
	if f.audit != "" {
		audit = "; audit log: " + f.audit
	}
	return plainLine(fmt.Sprintf("corrector: %s; %s%s", o.Intervention.Ref.Name, how, audit))
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
			if len(entries) == 0 && len(unread) > 0 {
				return coded{exitUsage, fmt.Errorf("%s: no line of it is an entry of an audit log that can be read", args[0])}
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

// auditLines tells a log in short: a row an entry, and below it what was said and why.
func auditLines(std stdio, entries []gateway.Entry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(std.out, "Nothing was changed, and nothing failed.")
		return err
	}
	var rows strings.Builder
	w := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TIME (UTC)\tMODE\tRESULT\tPROTOCOL\tCALLS")
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.Time.UTC().Format(time.DateTime), plainLine(e.Mode), plainLine(e.Word()), plainLine(e.Protocol), auditCalls(e))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	lines := strings.SplitAfter(rows.String(), "\n")
	text := lines[0]
	for i, e := range entries {
		text += lines[i+1] + auditSaid(e)
	}
	_, err := fmt.Fprint(std.out, text)
	return err
}

// auditCalls are the calls of the draft, and those that the client has.
func auditCalls(e gateway.Entry) string {
	before := calledNames(e.Before.Calls)
	switch {
	case e.Mode == gateway.Shadow:
		return before + " (passed)"
	case e.After == nil:
		return before + " → undelivered"
	}
	return before + " → " + calledNames(e.After.Calls)
}

// auditSaid are the Thoughts of an entry, and why it failed, a line each.
func auditSaid(e gateway.Entry) string {
	text := ""
	line := func(name, said string) { text += fmt.Sprintf("    %-9s %s\n", name+":", said) }
	line("draft", auditThought(e.Before.Thought))
	if e.After != nil && e.Result == gateway.Changed {
		name := "after"
		if e.Mode == gateway.Shadow {
			name = "would be"
		}
		line(name, auditThought(e.After.Thought))
	}
	if e.Failure != "" {
		line("why", plainLine(e.Failure))
	}
	return text
}

// auditWidth is how much of a Thought a line shows; the page has all of it.
const auditWidth = 120

func auditThought(text string) string {
	switch said := []rune(plainLine(text)); {
	case len(said) == 0:
		return "(no Thought is shown)"
	case len(said) > auditWidth:
		return string(said[:auditWidth]) + "…"
	default:
		return string(said)
	}
}

func calledNames(all []gateway.Called) string {
	if len(all) == 0 {
		return "no call"
	}
	var names []string
	for _, c := range all {
		names = append(names, plainLine(c.Tool))
	}
	return strings.Join(names, ",")
}
