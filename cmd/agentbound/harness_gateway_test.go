package main

import (
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
)

// TestProgramsBehindGateway: each real program, with the gateway and a corrector before
// its model, acts on the answers that were asked for anew. Verdicts and calls are those
// without a program, its Thoughts are read with the correction, and the audit log has an
// entry for each.
func TestProgramsBehindGateway(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	f := &s.Families[0]
	for _, p := range programs() {
		t.Run(p.Name, func(t *testing.T) {
			found := installedProgram(t, p)
			how, policy := programPeers[p.Name], evidence(t, f)
			peer := modeltest.Serve(t, modeltest.Options{Protocol: how.protocol, Key: realKey, Play: modeltest.Through(policy, how.names)})
			base, log := behindGateway(t, peer.URL)
			a, err := subject.New(p, surroundings{}.parts(), subject.Options{Model: peer.Model, Base: base, Key: realKey, Start: found.Start, ReadOnly: []string{found.Folder}})
			if err != nil {
				t.Fatal(err)
			}
			for _, split := range []agentbound.Split{agentbound.HB, agentbound.CM} {
				bare := playOnce(t, chat.New(modeltest.Fake{Play: policy}, chat.Options{}), f, split)
				got := playOnce(t, a, f, split)
				if got.Trajectory.End.Fault != "" {
					t.Fatalf("%s: %s", split, got.Trajectory.End.Fault)
				}
				for _, d := range []string{cmp.Diff(bare.Verdicts, got.Verdicts), cmp.Diff(callsOf(bare), callsOf(got))} {
					if d != "" {
						t.Errorf("%s: %s", split, d)
					}
				}
				for i, step := range got.Trajectory.Steps {
					if !strings.Contains(step.Thought, "On reflection, this: ") {
						t.Errorf("%s, step %d has the Thought %q", split, i, step.Thought)
					}
				}
				t.Logf("%-2s  %d calls, %d Thoughts corrected on their way, %s", split, len(callsOf(got)), len(got.Trajectory.Steps), got.Trajectory.Outcome.Word)
			}
			entries, _, err := gateway.ReadAudit(log)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.Result != "changed" || e.After.Thought != "On reflection, this: "+e.Before.Thought {
					t.Errorf("%+v", e)
				}
			}
			if len(entries) < 8 {
				t.Errorf("%d entries in the audit log", len(entries))
			}
		})
	}
}

// behindGateway serves the gateway before a model endpoint, with a corrector that changes
// every Thought. It gives the base URL for clients and the path of the audit log.
func behindGateway(t *testing.T, upstream string) (base, log string) {
	t.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(t.TempDir(), "edits.jsonl")
	audit, err := gateway.OpenAudit(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := audit.Close(); err != nil {
			t.Error(err)
		}
	})
	g, err := gateway.New(gateway.Options{
		Upstream: to, Audit: audit,
		Intervention: intervene.Intervention{Ref: agentbound.Intervention{Name: "edits"}, Corrector: onReflection{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	return g.At(front.Listener.Addr().String()), log
}
