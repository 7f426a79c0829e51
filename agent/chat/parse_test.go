package chat

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

func TestParseOutcome(t *testing.T) {
	for text, want := range map[string]agentbound.Outcome{
		"OUTCOME: done — shared with the press":          {Word: agentbound.Done, Reason: "shared with the press"},
		"So.\n\nOUTCOME: declined — the agreement ended": {Word: agentbound.Declined, Reason: "the agreement ended"},
		"OUTCOME: unable":                                          {Word: agentbound.Unable},
		"outcome: Done.":                                           {Word: agentbound.Done},
		"Outcome: DECLINED – out of scope":                         {Word: agentbound.Declined, Reason: "out of scope"},
		"OUTCOME: declined - out of scope - for now":               {Word: agentbound.Declined, Reason: "out of scope - for now"},
		"OUTCOME: declined: out of scope":                          {Word: agentbound.Declined, Reason: "out of scope"},
		"OUTCOME — done — so":                                      {Word: agentbound.Done, Reason: "so"},
		"**OUTCOME: declined — out of scope**":                     {Word: agentbound.Declined, Reason: "out of scope"},
		"**OUTCOME:** declined — out of scope":                     {Word: agentbound.Declined, Reason: "out of scope"},
		"**OUTCOME**: **unable** — no tool":                        {Word: agentbound.Unable, Reason: "no tool"},
		"> `OUTCOME: done — so`":                                   {Word: agentbound.Done, Reason: "so"},
		"- outcome:done--so":                                       {Word: agentbound.Done, Reason: "so"},
		"OUTCOME：done —— 已发送":                                      {Word: agentbound.Done, Reason: "已发送"},
		"OUTCOME: unable to reach the record":                      {Word: agentbound.Unable, Reason: "to reach the record"},
		"```\nOUTCOME: done — so\n```\n\n":                         {Word: agentbound.Done, Reason: "so"},
		"OUTCOME: done — so\r\n":                                   {Word: agentbound.Done, Reason: "so"},
		"OUTCOME: done — a\nOUTCOME: declined — b":                 {Word: agentbound.Declined, Reason: "b"},
		"OUTCOME: [declined] — b":                                  {Word: agentbound.Declined, Reason: "b"},
		"":                                                         {Word: agentbound.Unstated},
		"I have done it.":                                          {Word: agentbound.Unstated},
		"OUTCOME: done | declined | unable — reason":               {Word: agentbound.Unstated},
		"OUTCOME: done/declined":                                   {Word: agentbound.Unstated},
		"OUTCOME: perhaps":                                         {Word: agentbound.Unstated},
		"OUTCOME: undone":                                          {Word: agentbound.Unstated},
		"OUTCOME: doneness":                                        {Word: agentbound.Unstated},
		"The outcome: done, I think? No.":                          {Word: agentbound.Unstated},
		"OUTCOME: done — so\nShall I also tell Dana?":              {Word: agentbound.Unstated},
		"I would write OUTCOME: done but cannot.\nShall I go on? ": {Word: agentbound.Unstated},
	} {
		want.Text = text
		got, ok := ParseOutcome(text)
		if d := cmp.Diff(want, got); d != "" || ok != (want.Word != agentbound.Unstated) {
			t.Errorf("%q: %t %s", text, ok, d)
		}
	}
}

// TestReadReAct: the forms that models write a step in.
func TestReadReAct(t *testing.T) {
	const args = `{"photo":"P-1"}`
	for name, test := range map[string]struct {
		text, thought, tool, args string
	}{
		"as asked":                  {"Thought: I look.\nAction: read_photo\nAction Input: " + args, "I look.", "read_photo", args},
		"without a thought":         {"Action: read_photo\nAction Input: " + args, "", "read_photo", args},
		"a thought without label":   {"I look.\n\nAction: read_photo\nAction Input: " + args, "I look.", "read_photo", args},
		"a long thought":            {"Thought: I look.\nThen I see.\nAction: read_photo\nAction Input: " + args, "I look.\nThen I see.", "read_photo", args},
		"marked up":                 {"**Thought:** I look.\n\n**Action:** `read_photo`\n**Action Input:** `" + args + "`", "I look.", "read_photo", args},
		"headed":                    {"### Thought: I look.\n### Action: read_photo\n### Action Input:\n" + args, "I look.", "read_photo", args},
		"fenced":                    {"Thought: I look.\nAction: read_photo\nAction Input:\n```json\n" + args + "\n```", "I look.", "read_photo", args},
		"fence within":              {"Action: log\nAction Input: ```\n{\"text\": \"```x```\"}\n```", "", "log", "{\"text\": \"```x```\"}"},
		"over lines":                {"Action: read_photo\nAction Input: {\n  \"photo\": \"P-1\"\n}\nThat is all.", "", "read_photo", "{\n  \"photo\": \"P-1\"\n}"},
		"other case":                {"THOUGHT: I look.\naction: read_photo\naction_input: " + args, "I look.", "read_photo", args},
		"as a function":             {"Thought: I look.\nAction: read_photo(" + args + ")", "I look.", "read_photo", args},
		"input on the same line":    {"Action: read_photo " + args, "", "read_photo", args},
		"no input":                  {"Action: unlog", "", "unlog", ""},
		"an observation of its own": {"Thought: I look.\nAction: read_photo\nAction Input: " + args + "\nObservation: {\"consent\":\"given\"}\nThought: now\nAction: share\nAction Input: {}", "I look.", "read_photo", args},
		"an end of its own":         {"Action: unlog\nAction Input: {}\nObservation: ok\nFinal Answer: OUTCOME: done", "", "unlog", "{}"},
		"two actions":               {"Action: read_photo\nAction Input: " + args + "\nAction: share\nAction Input: {}", "", "read_photo", args},
		"malformed input":           {"Action: read_photo\nAction Input: photo = P-1\nObservation: x", "", "read_photo", "photo = P-1"},
		"cut input":                 {"Action: read_photo\nAction Input: {\"photo\": ", "", "read_photo", `{"photo":`},
		"no name":                   {"Action:\nAction Input: {}", "", "", "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			got := react{}.read(model.Response{Message: model.Message{Text: test.text}})
			if len(got.calls) != 1 || got.end != nil || got.note != "" {
				t.Fatalf("turn %+v", got)
			}
			c := got.calls[0]
			if d := cmp.Diff([]string{test.thought, test.tool, test.args}, []string{got.thought, c.Tool, c.Args.String()}); d != "" {
				t.Error(d)
			}
			// What stays in the conversation reads the same again.
			if again := (react{}).read(model.Response{Message: got.said}); test.args != "" && test.tool != "" {
				if d := cmp.Diff(got.calls, again.calls); d != "" || again.thought != got.thought {
					t.Errorf("again: %q %s", again.thought, d)
				}
			}
		})
	}
}

func TestReadReActEnds(t *testing.T) {
	for text, want := range map[string]struct {
		thought string
		word    agentbound.Word
	}{
		"Thought: I leave it.\nFinal Answer: No.\nOUTCOME: declined — so":                        {"I leave it.", agentbound.Declined},
		"Final Answer: I leave it.\nOUTCOME: declined — so":                                      {"I leave it.", agentbound.Declined},
		"**Final Answer:** Shared.\n\n**OUTCOME: done**":                                         {"Shared.", agentbound.Done},
		"Thought: so\nFinal Answer: Shall I?":                                                    {"so", agentbound.Unstated},
		"Thought: I leave it.\nOUTCOME: declined — so":                                           {"I leave it.", agentbound.Declined},
		"Thought: so\nFinal Answer: well\nAction: share\nAction Input: {}\nOUTCOME: unable — so": {"so", agentbound.Unable},
	} {
		got := react{}.read(model.Response{Message: model.Message{Text: text}})
		if got.end == nil || len(got.calls) > 0 || got.note != "" || got.thought != want.thought || got.end.Word != want.word {
			t.Errorf("%q: %+v, end %+v", text, got, got.end)
		}
	}
	for _, text := range []string{"", "Thought: I wonder.", "Sure!", "I take action: share it.", "The final answer is no."} {
		if got := (react{}).read(model.Response{Message: model.Message{Text: text}}); got.note != formNote || got.end != nil || got.calls != nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// FuzzRead: whatever a model writes comes to exactly one of call, end and note.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"Thought: a\nAction: b\nAction Input: {}", "Final Answer: a\nOUTCOME: done — b", "**Action:** `b` {\"a\": [1", "Action:", "OUTCOME: declined", "```\nOUTCOME: done\n```", "\xff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := react{}.read(model.Response{Message: model.Message{Text: text}})
		ways := len(got.calls)
		if got.end != nil {
			ways++
		}
		if got.note != "" {
			ways++
		}
		if ways != 1 {
			t.Errorf("%d ways: %+v", ways, got)
		}
		o, ok := ParseOutcome(text)
		if o.Text != text || o.Word.Validate() != nil || ok == (o.Word == agentbound.Unstated) || strings.Contains(o.Reason, "\n") {
			t.Errorf("outcome %+v, %t", o, ok)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got.said.Text+got.thought+o.Reason) {
			t.Errorf("a character was cut: %+v", got)
		}
	})
}
