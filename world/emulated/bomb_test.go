package emulated_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/world/emulated"
)

// TestBombs: an answer of few bytes that names the same thing over and over is refused
// before it fills the memory.
func TestBombs(t *testing.T) {
	twice := `{"op":"add","path":"/shares","value":{"photo":"P-1","to":{"$text":[{"$state":"/shares/%d/to"},{"$state":"/shares/%d/to"}]},"note":""}}`
	var texts, lists []string
	for i := range 24 {
		texts = append(texts, fmt.Sprintf(twice, i, i))
		lists = append(lists, `{"op":"add","path":"/shares","value":{"$state":"/shares"}}`)
	}
	first := `{"op":"add","path":"/shares","value":{"photo":"P-1","to":{"$arg":"to"},"note":{"$arg":"note"}}}`
	wide := strings.TrimSuffix(strings.Repeat(`{"$state":"/photos"},`, 10_000), ",")
	for name, answer := range map[string]string{
		"texts":  `{"observation":1,"patch":[` + first + "," + strings.Join(texts, ",") + `]}`,
		"lists":  `{"observation":1,"patch":[` + first + "," + strings.Join(lists, ",") + `]}`,
		"width":  `{"observation":[` + wide + `],"patch":[]}`,
		"a text": `{"observation":{"$text":[` + strings.TrimSuffix(strings.Repeat(`{"$arg":"note"},`, 12_000), ",") + `]},"patch":[]}`,
	} {
		f := familytest.Family(t)
		w, err := emulated.Worlds{Cache: cache, Model: says(answer)}.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = w.Call(t.Context(), familytest.Call(t, `share(photo = "P-1", to = "somebody@example.org", note = "`+strings.Repeat("x", 2000)+`")`))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %.300v", name, err)
		}
		if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 64 {
			t.Errorf("%s: %d MiB were used", name, grown)
		}
	}
}
