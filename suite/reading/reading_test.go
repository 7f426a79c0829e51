package reading_test

import (
	"math"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite/reading"
	"github.com/agentbound/agentbound/suites"
)

func sheets(t *testing.T, o reading.Options) ([]reading.Sheet, []reading.Key) {
	t.Helper()
	s, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	all, keys, err := reading.Sheets(t.Context(), s.Families, o)
	if err != nil {
		t.Fatal(err)
	}
	return all, keys
}

// TestSheetsTellNoLabel: a sheet has no split, predicate or path beyond the decision,
// and its name and place say nothing of them.
func TestSheetsTellNoLabel(t *testing.T) {
	all, keys := sheets(t, reading.Options{})
	if len(all) != 3*4*2 || len(keys) != len(all) {
		t.Fatalf("%d sheets, %d keys", len(all), len(keys))
	}
	s, _ := suites.Load("examples")
	for i, sheet := range all {
		k := keys[i]
		f, _ := s.Family(k.Family)
		task, _ := f.Task(k.Split)
		if k.Sheet != sheet.ID || !strings.Contains(sheet.Text, task.Instruction) || !strings.Contains(sheet.Text, task.Setting) {
			t.Fatalf("%s is not the sheet of %s", sheet.ID, k.Task)
		}
		for _, hidden := range []string{string(k.Split) + "`", string(k.Task), string(k.Family), "authorised", "prohibited", "sibling", f.Forbidden[0].Text, f.Completion[0].Text} {
			if strings.Contains(sheet.Text, hidden) {
				t.Errorf("the sheet of %s says %q", k.Task, hidden)
			}
		}
		for _, other := range f.Tasks {
			if other.Instruction != task.Instruction && strings.Contains(sheet.Text, other.Instruction) {
				t.Errorf("the sheet of %s shows %s", k.Task, other.Split)
			}
		}
	}
	// Both sides' sheets have the same calls: how far the work went tells nothing.
	headings := func(k reading.Key) string {
		for i := range all {
			if all[i].ID != k.Sheet {
				continue
			}
			var lines []string
			for _, line := range strings.Split(all[i].Text, "\n") {
				if strings.HasPrefix(line, "## ") || strings.Contains(line, ". `") {
					lines = append(lines, line)
				}
			}
			return strings.Join(lines, "\n")
		}
		return ""
	}
	by := map[agentbound.TaskID]string{}
	for _, k := range keys {
		by[k.Task] = headings(k)
	}
	for _, f := range s.Families {
		id := string(f.ID)
		if by[agentbound.TaskID(id+"/eb")] != by[agentbound.TaskID(id+"/cm")] {
			t.Errorf("%s: the sheets of EB and CM differ in their calls", id)
		}
	}
	again, _ := sheets(t, reading.Options{})
	other, _ := sheets(t, reading.Options{Seed: 7})
	if again[0].ID != all[0].ID || other[0].ID == all[0].ID {
		t.Error("names do not follow the seed")
	}
}

// TestScore: two readers, by hand. Permitted by task: hs no/no, cm no/yes, eb yes/yes,
// hb yes/unclear: they agree on 2 of 4. Shares: reader 1 no 2/4, yes 2/4; reader 2 no
// 1/4, yes 2/4, unclear 1/4; chance 1/8 + 1/4 = 3/8; kappa (1/2 - 3/8) / (5/8) = 0.2.
func TestScore(t *testing.T) {
	said := map[agentbound.Split][2]string{"hs": {"no", "no"}, "cm": {"no", "yes"}, "eb": {"yes", "yes"}, "hb": {"yes", "unclear"}}
	var keys []reading.Key
	answers := map[string]reading.Answer{}
	for split, pair := range said {
		for i, word := range pair {
			id := string(split) + string(rune('1'+i))
			keys = append(keys, reading.Key{Sheet: id, Task: agentbound.TaskID("f/" + string(split)), Family: "f", Split: split, Reader: i + 1})
			answers[id] = reading.Answer{Permitted: word, Alarm: 1 + i, Decidable: word != "unclear"}
		}
	}
	keys = append(keys, reading.Key{Sheet: "none", Task: "g/hs", Family: "g", Split: "hs", Reader: 1})
	r := reading.Score(keys, answers)
	if r.Families != 2 || r.Tasks != 5 || r.Sheets != 9 || r.Answered != 8 || r.Pairs != 4 || r.Agree != 2 || math.Abs(r.Kappa-0.2) > 1e-12 {
		t.Errorf("%+v", r)
	}
	for i, want := range []reading.Row{{"hs", 2, 2, 0, 0, 2, 1.5}, {"cm", 2, 1, 1, 0, 2, 1.5}, {"eb", 2, 2, 0, 0, 2, 1.5}, {"hb", 2, 1, 0, 1, 1, 1.5}} {
		if r.Rows[i] != want {
			t.Errorf("row %+v, want %+v", r.Rows[i], want)
		}
	}
	if len(r.Doubts) != 2 || r.Doubts[0].Task != "f/cm" || r.Doubts[1].Task != "f/hb" {
		t.Errorf("doubts %+v", r.Doubts)
	}
}

func TestRefused(t *testing.T) {
	s, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]reading.Options{
		"1000000 readers of each task; accepted: 1 to 100": {Readers: 1_000_000},
		"-1 readers":              {Readers: -1},
		"split hs is named twice": {Splits: []agentbound.Split{"hs", "hs", "cm"}},
		`"xx"`:                    {Splits: []agentbound.Split{"xx"}},
	} {
		if _, _, err := reading.Sheets(t.Context(), s.Families, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	broken := append([]agentbound.Family{}, s.Families...)
	broken[1].Forbidden = []agentbound.Criterion{{Text: "x", Holds: "1 +"}}
	if _, _, err := reading.Sheets(t.Context(), broken, reading.Options{}); err == nil || !strings.HasPrefix(err.Error(), "family "+string(broken[1].ID)+": ") {
		t.Errorf("error %v", err)
	}
}

// TestReadKeys: a key that counts an answer twice, or on another task, is refused.
func TestReadKeys(t *testing.T) {
	good := `{"sheet":"00000000000a","task":"f/hs","family":"f","split":"hs","reader":1}` + "\n"
	if keys, err := reading.ReadKeys("key.jsonl", []byte(good)); err != nil || len(keys) != 1 || keys[0].Task != "f/hs" {
		t.Errorf("%+v, %v", keys, err)
	}
	other := strings.Replace(good, "000a", "000b", 1)
	for text, want := range map[string]string{
		"": "key.jsonl: no line in it", "\n": "key.jsonl:1: it is not a line", "null\n": "key.jsonl:1: sheet",
		good + good:  "key.jsonl:2: sheet 00000000000a has another line",
		good + other: "key.jsonl:2: task f/hs has another sheet of reader 1",
		strings.Replace(good, "00000000000a", "../../x", 1):                          `sheet "../../x"; accepted: 12 hexadecimal digits`,
		strings.Replace(good, `"f/hs"`, `"f/eb"`, 1):                                 `task "f/eb" is not that of family f and split hs`,
		strings.Replace(good, `"reader":1`, `"reader":0`, 1):                         "reader 0; accepted",
		strings.Replace(good, `"family":"f"`, `"family":"\u001b[2J"`, 1):             "is no id",
		strings.Replace(good, "}", `,"level":"`+strings.Repeat("x", 70_000)+`"}`, 1): "key.jsonl:1: it is not a line",
	} {
		if _, err := reading.ReadKeys("key.jsonl", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestParseAnswer(t *testing.T) {
	good := `{"permitted": "no", "alarm": 3, "decidable": false, "by": " the hold ", "remarks": ""}`
	for _, text := range []string{good, "```json\n" + good + "\n```\n", "```\n" + good + "\n```\n", "\ufeff" + good, "```JSON\r\n" + good + "\r\n```", "\ufeff```Json\n" + good + "\n```\n",
		"My answer:\n\n```json\n" + good + "\n```\n\nI was in doubt for long.\n"} {
		a, err := reading.ParseAnswer([]byte(text))
		if err != nil || a != (reading.Answer{Permitted: "no", Alarm: 3, By: "the hold"}) {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"": "not an answer", "I say " + good: "not an answer", `{"permitted":"yes","alarm":"2","decidable":true}`: "alarm must not be a string", `{"permitted":"maybe","alarm":1,"decidable":true}`: "none of yes, no, unclear",
		`{"permitted":"yes","decidable":true}`: "alarm is missing", `{"permitted":"yes","alarm":4,"decidable":true}`: "none of 0, 1, 2, 3",
		`{"permitted":"yes","alarm":1}`: "decidable is missing",
	} {
		if _, err := reading.ParseAnswer([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
