package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/replay"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// full sets every field of a value to something of its own.
func full(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			full(v.Field(i), n)
		}
	case reflect.Slice:
		switch {
		case v.Type() == reflect.TypeFor[agentbound.Value]():
			v.SetBytes(fmt.Appendf(nil, "%d", *n))
		case v.Type().Elem().Kind() == reflect.Uint8:
			v.SetBytes(fmt.Appendf(nil, "state %d", *n))
		default:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			full(v.Index(0), n)
			full(v.Index(1), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	default:
		panic(v.Kind())
	}
}

// TestEveryField: nothing of the port's is left out of the format. A field that is added
// to the port fails here until format.go and docs/formats.md have it.
func TestEveryField(t *testing.T) {
	var sent model.Request
	var said model.Response
	n := 0
	full(reflect.ValueOf(&sent).Elem(), &n)
	full(reflect.ValueOf(&said).Elem(), &n)
	path := filepath.Join(t.TempDir(), "r.jsonl")
	rec := record(t, path, replay.Options{})
	fake := modeltest.Fake{Play: func(model.Request) model.Response { return said }}
	given, err := rec.Wrap(fake, model.PartWorld).Chat(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), sent)
	if err != nil {
		t.Fatal(err)
	}
	done(t, rec)
	recording := open(t, path)
	got, err := recording.Wrap(fake.Ref(), model.PartWorld).Chat(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), sent)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(said, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(said, given); d != "" {
		t.Error(d)
	}
	// Of the request each leaf decides whether it is found.
	for i := range leaves(reflect.ValueOf(&sent).Elem()) {
		changed := clone(t, sent)
		leaf := leaves(reflect.ValueOf(&changed).Elem())[i]
		change(leaf)
		if _, err := open(t, path).Wrap(fake.Ref(), "").Chat(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), changed); err == nil {
			t.Errorf("leaf %d (%s) is not compared", i, leaf.Type())
		}
	}
}

func clone(t *testing.T, r model.Request) (c model.Request) {
	t.Helper()
	b, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func leaves(v reflect.Value) (all []reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer:
		return leaves(v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			all = append(all, leaves(v.Field(i))...)
		}
		return all
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			all = append(all, leaves(v.Index(i))...)
		}
		return all
	}
	return []reflect.Value{v}
}

func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		v.SetBytes(append(slices.Clone(v.Bytes()), '0'))
	case reflect.String:
		v.SetString(v.String() + "0")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	default:
		v.SetFloat(v.Float() + 1)
	}
}

// TestSecrets: keys, tokens and what tells an account are in no part of a recording, and
// a replay still finds what was asked.
func TestSecrets(t *testing.T) {
	const secret, org, project, request, bearer = "hunter2-hunter2", "org-Ab12Cd34Ef56Gh78", "proj_Zy98Xw76Vu54", "req_011CQ7mT9", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc"
	words := fmt.Sprintf("Rate limit reached for gpt-x in organization %s on tokens per min (key %s). Authorization: Bearer %s, project number 4711004711, %s, user: accountant77; mail a.user@corp.example (request ID: 8f14e45f)", org, secret, bearer, request)
	state := fmt.Sprintf(`[{"type":"reasoning","encrypted_content":"gAAAAsk-%s==","id":"rs_1","organization":%q,"project_id":%q,"api-key":%q},{"summary":"for %s, by %s"}]`, strings.Repeat("x", 300), org, project, secret, org, secret)
	said := model.Response{
		Message: model.Message{Role: model.Assistant, Text: "The key is " + secret + ", the fake one sk-0123456789abcdef.", Reasoning: "hm, " + secret, State: []byte(state), Calls: []model.ToolCall{{ID: "c1", Name: "read", Args: `{"k":"` + secret + `"}`}}},
		Stop:    model.StopCalls, Refusal: "no, " + request,
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	rec := record(t, path, replay.Options{})
	rec.Secret(secret)
	if err := rec.Run(agentbound.Plan{Agent: agentbound.AgentRef{Name: "compat:m@http://h/" + secret, Settings: map[string]string{"base_url": "http://h/" + secret}}}); err != nil {
		t.Fatal(err)
	}
	n := 0
	fake := fakeOf(func(ctx context.Context, _ model.Request) (model.Response, error) {
		if n++; n == 2 {
			e := &model.Error{Fault: model.FaultRate, Who: "fake", What: words, Remedy: "ask " + org, Code: request}
			_, err := model.Retry{Attempts: 2, Sleep: func(context.Context, time.Duration) error { return nil }}.Do(ctx, func(context.Context) (model.Response, error) { return model.Response{}, e })
			return model.Response{}, err
		}
		return said, nil
	})
	p := &model.Play{Trial: key(1)}
	ctx := model.WithPlay(t.Context(), p)
	m := rec.Wrap(fake, "")
	given, err := m.Chat(ctx, ask("begin with "+secret))
	if err != nil {
		t.Fatal(err)
	}
	if string(given.Message.State) != state {
		t.Errorf("the provider gets another state: %s", given.Message.State)
	}
	next := ask("begin with " + secret)
	next.Messages = append(next.Messages, given.Message, model.Message{Role: model.Result, CallID: "c1", Text: "it is " + secret})
	_, recordedErr := m.Chat(ctx, next)
	if recordedErr == nil {
		t.Fatal("no error")
	}
	p.End(false, recordedErr.Error()+" "+words)
	done(t, rec)

	b := read(t, path)
	for _, text := range []string{secret, org, project, request, "eyJhbGci", "4711004711", "accountant77", "a.user@corp", "8f14e45f"} {
		if bytes.Contains(b, []byte(text)) {
			t.Errorf("the recording holds %s", text)
		}
		if strings.Contains(recordedErr.Error(), text) {
			t.Errorf("the error holds %s: %v", text, recordedErr)
		}
	}
	for _, text := range []string{"gAAAAsk-xxxxx", "rs_1", "sk-0123456789abcdef", "Rate limit reached for gpt-x in organization", "tokens per min"} {
		if !bytes.Contains(b, []byte(text)) {
			t.Errorf("the recording has lost %s", text)
		}
	}

	// In the replay the conversation goes on from what was given there.
	m = open(t, path).Wrap(fake.Ref(), "")
	ctx = model.WithPlay(t.Context(), &model.Play{Trial: key(1)})
	again, err := m.Chat(ctx, ask("begin with [struck]"))
	if err != nil {
		t.Fatal(err)
	}
	if again.Message.Text != given.Message.Text || again.Refusal != given.Refusal || !cmp.Equal(again.Message.Calls, given.Message.Calls) {
		t.Errorf("recorded %+v, replayed %+v", given, again)
	}
	next = ask("begin with [struck]")
	next.Messages = append(next.Messages, again.Message, model.Message{Role: model.Result, CallID: "c1", Text: "it is [struck]"})
	if _, err := m.Chat(ctx, next); err == nil || err.Error() != recordedErr.Error() {
		t.Errorf("recorded %v, replayed %v", recordedErr, err)
	}
}

// fakeOf is a model that is a function.
type fakeOf func(context.Context, model.Request) (model.Response, error)

// Ref implements model.Model.
func (fakeOf) Ref() model.Ref { return modeltest.Fake{}.Ref() }

// Chat implements model.Model.
func (f fakeOf) Chat(ctx context.Context, r model.Request) (model.Response, error) { return f(ctx, r) }

// TestCut: wherever a process was killed while it wrote, all but the line that it was
// writing is there, and the next one goes on.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.jsonl")
	var asked atomic.Int64
	rec := record(t, path, replay.Options{})
	m := rec.Wrap(counter(&asked), "")
	for n := range 3 {
		converse(model.WithPlay(t.Context(), &model.Play{Trial: key(n)}), m, "one", "two")
	}
	done(t, rec)
	whole := read(t, path)
	for at := 0; at < len(whole); at += 5 {
		cut := filepath.Join(dir, "cut.jsonl")
		if err := os.WriteFile(cut, whole[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(whole[:at], []byte("\n"))
		if lines > 0 {
			if r, err := replay.Open(cut, replay.Options{}); err != nil {
				t.Fatalf("cut at %d: %v", at, err)
			} else if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		rec := record(t, cut, replay.Options{})
		if want := int64(at - bytes.LastIndexByte(whole[:at], '\n') - 1); rec.Dropped() != want {
			t.Fatalf("cut at %d, %d bytes were dropped, want %d", at, rec.Dropped(), want)
		}
		done(t, rec)
		if got := read(t, cut); bytes.Count(got, []byte("\n")) != lines+1 || !bytes.HasPrefix(got, whole[:bytes.LastIndexByte(whole[:at], '\n')+1]) {
			t.Fatalf("cut at %d, it goes on as %s", at, got)
		}
	}
}

// TestRecordRefuses files that are something else, or somebody else's.
func TestRecordRefuses(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	rec := record(t, mine, replay.Options{})
	defer done(t, rec)
	for name, test := range map[string]struct{ content, want string }{
		"notes":   {"my notes", "no recording"},
		"lines":   {"my\nnotes\n", "no recording"},
		"later":   {`{"kind":"session","format":"agentbound recording","version":2,"session":1}` + "\n", "version 2, and version 1 can be added to"},
		"no/such": {"", "its folder does not exist"},
		"mine":    {"", "another process is writing to it"},
	} {
		path := filepath.Join(dir, name)
		if test.content != "" {
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := replay.Record(path, replay.Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
		if test.content != "" && string(read(t, path)) != test.content {
			t.Errorf("%s was changed", name)
		}
	}
	// As of a pipe, which would be waited for.
	if _, err := replay.Record(dir, replay.Options{}); err == nil || !strings.Contains(err.Error(), "it is no regular file") {
		t.Errorf("a folder to write: error %v", err)
	}
	if _, err := replay.Open(dir, replay.Options{}); err == nil || !strings.Contains(err.Error(), "it is no regular file") {
		t.Errorf("a folder to read: error %v", err)
	}
}

// TestRecordFails: where an exchange cannot be recorded the turn fails, and nobody is
// asked any more.
func TestRecordFails(t *testing.T) {
	var asked atomic.Int64
	rec := record(t, filepath.Join(t.TempDir(), "r.jsonl"), replay.Options{})
	m := rec.Wrap(counter(&asked), "")
	if err := rec.Close(); err != nil { // as if the disk were gone
		t.Fatal(err)
	}
	for range 3 {
		_, err := m.Chat(t.Context(), ask("one"))
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Transient() || !strings.Contains(e.What, "cannot be recorded") {
			t.Errorf("error %v", err)
		}
	}
	if asked.Load() != 1 || rec.Close() == nil {
		t.Errorf("asked %d times", asked.Load())
	}
}

// TestDamage: a line that is none of a recording is named.
func TestDamage(t *testing.T) {
	const head, good = `{"kind":"session","format":"agentbound recording","version":1,"session":1}` + "\n", `"request":{"model":{"name":"m"},"messages":[]},"response":{"message":{"role":"assistant"},"stop":"end","usage":{}}`
	for line, want := range map[string]string{
		`{"kind":`:            "r.jsonl:2: not a line of a recording",
		`[]`:                  "r.jsonl:2: not a line of a recording",
		`{"kind":"exchange"}`: "r.jsonl:2: an exchange has a response or an error",
		`{"kind":"exchange","ms":-1,` + good + `}`:                                                                                       "ms is -1",
		`{"kind":"exchange","request":{"model":{"name":"m"},"after":3,"kept":2,"messages":[]},"error":{}}`:                               "goes on from turn 3",
		`{"kind":"exchange","play":"1.1","trial":"a",` + good + `}` + "\n" + `{"kind":"exchange","play":"1.1","trial":"b",` + good + `}`: "r.jsonl:3: play 1.1 is of trial a, and here of b",
		`{"kind":"session","format":"agentbound recording","version":2}`:                                                                 "it has version 2, and version 1 can be read",
		`{"kind":"run","plan":7}`: "r.jsonl:2: not the plan of a run",
		`{"kind":"end","play":7}`: "r.jsonl:2: not the end of a play",
		`{"kind":"what comes"}`:   "",
	} {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(path, []byte(head+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := replay.Open(path, replay.Options{})
		if err == nil {
			_ = r.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", line, err, want)
		}
	}
}

// FuzzOpen: whatever a file holds, reading it ends with an error or a recording that
// answers or not, and adding to it leaves what cannot be added to as it is.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.jsonl")
	rec, err := replay.Record(path, replay.Options{})
	if err != nil {
		f.Fatal(err)
	}
	var asked atomic.Int64
	for n := range 2 {
		p := &model.Play{Trial: key(n)}
		converse(model.WithPlay(f.Context(), p), rec.Wrap(counter(&asked), ""), "one", "two")
		p.End(n == 0, "so")
	}
	converse(f.Context(), rec.Wrap(counter(&asked), ""), "one")
	_ = rec.Close()
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:len(seed)-20])
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := replay.Open(path, replay.Options{}); err == nil {
			m := r.Wrap(modeltest.Fake{}.Ref(), "")
			for _, p := range []*model.Play{{Trial: key(0)}, {Trial: key(1), Judge: "j"}, {}} {
				converse(model.WithPlay(t.Context(), p), m, "one", "two")
				r.More(p.Trial, p.Judge)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		rec, err := replay.Record(path, replay.Options{})
		after := read(t, path)
		if err != nil {
			if !bytes.Equal(after, b) {
				t.Errorf("refused and changed: %v", err)
			}
			return
		}
		if whole := b[:bytes.LastIndexByte(b, '\n')+1]; !bytes.HasPrefix(after, whole) || !bytes.HasSuffix(after, []byte("\n")) {
			t.Error("it does not go on after the last whole line")
		}
		_ = rec.Close()
	})
}
