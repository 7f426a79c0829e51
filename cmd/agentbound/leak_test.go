package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/install"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/suites"
)

// TestBriefTellsNothing: over all of core, what a subject is given is the same to the
// byte on both facts of a wording, and names neither family, split nor criterion. What
// each path (agent/chat, agent/exec, internal/play) adds to the brief is compared there.
func TestBriefTellsNothing(t *testing.T) {
	s, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Families {
		f := &s.Families[i]
		brief := func(split agentbound.Split) string {
			task, _ := f.Task(split)
			b, err := agentbound.EncodeJSON(episode.New(episode.Config{Task: task}).Brief())
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		for _, pair := range [][2]agentbound.Split{{agentbound.HB, agentbound.HBProhibited}, {agentbound.CM, agentbound.CMAuthorised}} {
			if brief(pair[0]) != brief(pair[1]) {
				t.Errorf("%s: %s and %s are given different briefs", f.ID, pair[0], pair[1])
			}
		}
		secrets := []string{string(f.ID), string(f.Digest), f.Theme, f.Patterns.Misuse, f.Patterns.Disguise, f.Patterns.Containment}
		for _, set := range [][]agentbound.Criterion{f.Completion, f.Handled, f.Forbidden} {
			for _, c := range set {
				secrets = append(secrets, c.Text, c.Holds)
			}
		}
		for _, split := range agentbound.Splits() {
			text := brief(split)
			for _, secret := range secrets {
				if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
					t.Errorf("%s/%s: the brief holds %q", f.ID, split, secret)
				}
			}
			if m := labels.FindString(text); m != "" {
				t.Errorf("%s/%s: the brief holds the label %q", f.ID, split, m)
			}
		}
	}
}

var labels = regexp.MustCompile(`\b(?:hb-prohibited|cm-authorised|HS|CM|EB|HB|benign|malicious|forbidden|counterfactual|sibling)\b`)

// given keeps what programs are given to start with: command line, environment and files.
type given struct {
	home string
	seen *string
	ls   []net.Listener
}

func (g given) Cell(_ context.Context, n subject.Needs) (subject.Cell, error) {
	_, home, err := confine.TempDir()
	if err != nil {
		return nil, err
	}
	g.home = home
	for range n.Listeners {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		g.ls = append(g.ls, l)
	}
	return g, nil
}

func (g given) Home() string              { return g.home }
func (g given) Listeners() []net.Listener { return g.ls }
func (g given) Held() string              { return "not run" }
func (g given) Close() error              { confine.RemoveTemp(filepath.Dir(g.home)); return nil }

// chance is what differs from trial to trial: ports, dummy keys, the number in a home's name.
var chance = regexp.MustCompile(`127\.0\.0\.1:\d+|key-[A-Z2-7]{26}|(session-)\d+`)

func (g given) Run(c subject.Command) (harness.Exit, error) {
	text := strings.Join(append(c.Argv, c.Env...), "\n") + "\n" + c.Dir
	err := fs.WalkDir(os.DirFS(g.home), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(g.home, name))
		text += "\n" + name + "\n" + string(b)
		return err
	})
	*g.seen = chance.ReplaceAllString(text, "$1 N")
	return harness.Exit{}, err
}

// tells are words that would tell a program, or the model to which it tells its
// surroundings, what it is in.
var tells = regexp.MustCompile(`(?i)agentbound|confine|benchmark|counterfactual|\bevaluat`)

// TestProgramsAreToldNothing: command line, environment and files of an agent program are
// the same to the byte on both facts of a wording, and tell neither that it is tested nor
// on what.
func TestProgramsAreToldNothing(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", filepath.Join(string(filepath.Separator), "data"))
	t.Setenv(install.DirEnv, "")
	store, err := programStore()
	if err != nil {
		t.Fatal(err)
	}
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs() {
		var seen string
		parts := surroundings{}.parts()
		parts.Runner = given{seen: &seen}
		a, err := subject.New(p, parts, subject.Options{Model: "m", Base: "http://127.0.0.1:9/v1", Start: []string{filepath.Join(store.Folder(p), "bin", p.Name)}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Families[:3] {
			f := &s.Families[i]
			told := map[agentbound.Split]string{}
			for _, split := range agentbound.Splits() {
				seen = ""
				playOnce(t, a, f, split)
				task, _ := f.Task(split)
				if told[split] = seen; !strings.Contains(seen, strings.Fields(task.Instruction)[0]) {
					t.Fatalf("%s, %s/%s: the instruction is not handed over:\n%s", p.Name, f.ID, split, seen)
				}
				for _, secret := range []string{string(f.ID), string(f.Digest), f.Theme, f.Patterns.Misuse, f.Patterns.Disguise, f.Patterns.Containment} {
					if strings.Contains(seen, secret) {
						t.Errorf("%s, %s/%s: it is given %q", p.Name, f.ID, split, secret)
					}
				}
				if m := append(labels.FindAllString(seen, -1), tells.FindAllString(seen, -1)...); len(m) > 0 {
					t.Errorf("%s, %s/%s: it is given %q", p.Name, f.ID, split, m)
				}
			}
			for _, pair := range [][2]agentbound.Split{{agentbound.HB, agentbound.HBProhibited}, {agentbound.CM, agentbound.CMAuthorised}} {
				if d := cmp.Diff(told[pair[0]], told[pair[1]]); d != "" {
					t.Errorf("%s, %s: %s and %s are given different things: %s", p.Name, f.ID, pair[0], pair[1], d)
				}
			}
		}
	}
}
