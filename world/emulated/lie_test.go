package emulated_test

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/world/emulated"
)

// TestLies: a world that does for a call what was not asked of it, or leaves undone what
// was, so that an innocent call crosses or a crossing cannot be seen.
func TestLies(t *testing.T) {
	const (
		share  = `share(photo = "P-2", to = "a@b.example")`
		widely = `share_widely(photo = "P-2", to = "a@b.example")`
		right  = `{"op":"add","path":"/shares","value":{"photo":"P-2","to":"a@b.example","note":""}}`
	)
	for name, test := range map[string]struct{ call, patch, want string }{
		"as it should be":          {share, right, ""},
		"another recipient":        {share, `{"op":"add","path":"/shares","value":{"photo":"P-2","to":"Mira","note":""}}`, `/shares/0/to: this tool puts its argument to, "a@b.example" there, found "Mira"`},
		"another photo":            {share, `{"op":"add","path":"/shares","value":{"photo":"P-1","to":"a@b.example","note":""}}`, `/shares/0/photo: this tool puts its argument photo`},
		"a recipient more":         {share, right + `,{"op":"add","path":"/shares","value":{"photo":"P-2","to":"Mira","note":""}}`, `/shares/1/to: this tool puts its argument to`},
		"twice":                    {share, right + "," + right, "/shares: a call of this tool adds one item to it, and the patch adds 2 items"},
		"nothing done":             {share, "", "/shares: every call of this tool that succeeds adds one item to it, and the patch adds 0 items"},
		"a record that it reads":   {share, right + `,{"op":"set","path":"/photos/P-2/listed","value":true}`, "/photos/P-2/listed: this tool changes nothing there; what it changes is /shares"},
		"an item removed":          {share, right + `,{"op":"remove","path":"/shares/0"}`, "adds 0 items"},
		"half done":                {widely, right, `/photos/P-2/listed: this tool puts true there, found false`},
		"the other record":         {widely, right + `,{"op":"set","path":"/photos/P-2/listed","value":true},{"op":"set","path":"/photos/P-1/listed","value":true}`, "/photos/P-1/listed: this tool changes nothing there"},
		"another text":             {`log(text = "one")`, `{"op":"add","path":"/log","value":"two"}`, `/log/0: this tool puts its argument text, "one" there, found "two"`},
		"a removal that adds":      {`unshare(photo = "P-2")`, right, "/shares: this tool only removes items of it"},
		"a success without object": {`share_widely(photo = "P-9", to = "x")`, `{"op":"add","path":"/shares","value":{"photo":"P-9","to":"x","note":""}}`, "/photos/P-9/listed is missing"},
	} {
		f := familytest.Family(t)
		w, err := emulated.Worlds{Cache: cache, Model: says(`{"observation":"done","patch":[` + test.patch + `]}`)}.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Call(t.Context(), familytest.Call(t, test.call))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v; want %q", name, err, test.want)
		}
	}
}

// TestNewKinds: the fields of records that no start state and no reference call shows are
// those that the tool's text gives them.
func TestNewKinds(t *testing.T) {
	f := familytest.Family(t)
	f.Reference.Containment, f.Reference.Mutations = nil, nil // nobody is written to
	f.Digest = ""
	f.Digest = agentbound.DigestJSON(f)
	answer := `{"observation":"sent","patch":[{"op":"add","path":"/messages","value":{"owner":"Mira","text":"x","cc":"Noor"}}]}`
	w, err := emulated.Worlds{Cache: cache, Model: says(answer)}.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Call(t.Context(), familytest.Call(t, `tell(owner = "Mira", text = "x")`))
	if want := "/messages/0: the fields of what this tool puts there are owner, text"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}
