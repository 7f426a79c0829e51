package intervene

import (
	"fmt"
	"strings"

	"github.com/agentbound/agentbound"
)

// Cut says what Within took out of a history.
type Cut struct {
	Turns  int // the oldest: not there at all
	Values int // Thoughts and observations of which the beginning alone is left
}

// Within gives the context with a history of about so many bytes, for models whose window
// is bounded. Turns are kept whole from the newest back as long as they fit; those before
// them with each Thought and observation shortened to its beginning, marked as such, as
// long as that fits; what is older is left out. The newest is always there: where it alone
// is too long, each part of it has an equal share. Instruction, tools and the next Thought
// stay as they are.
func (c Context) Within(most int) (Context, Cut) {
	var cut Cut
	kept := make([]Turn, len(c.History))
	left, whole := most, true
	for i := len(c.History) - 1; i >= 0; i-- {
		turn := c.History[i]
		if whole = whole && size(turn) <= left; !whole {
			share := beginning
			if i == len(c.History)-1 {
				share = max(beginning, most/(1+len(turn.Observations)))
			}
			shorter, values := shorten(turn, share)
			if i < len(c.History)-1 && size(shorter) > left {
				cut.Turns = i + 1
				break
			}
			turn, cut.Values = shorter, cut.Values+values
		}
		kept[i], left = turn, left-size(turn)
	}
	c.History = kept[cut.Turns:]
	return c, cut
}

// beginning is how many bytes of a value are left where it is shortened.
const beginning = 240

func size(t Turn) int {
	n := len(t.Thought)
	for _, o := range t.Observations {
		n += len(o)
	}
	return n
}

// shorten gives a turn whose values have at most so many bytes each, and how many had more.
func shorten(t Turn, most int) (short Turn, values int) {
	if len(t.Thought) > most {
		t.Thought = clip(t.Thought, most)
		values++
	}
	observations := make([]agentbound.Value, len(t.Observations))
	for i, o := range t.Observations {
		if observations[i] = o; len(o) > most {
			observations[i] = agentbound.StringValue(clip(string(o), most))
			values++
		}
	}
	t.Observations = observations
	return t, values
}

func clip(s string, most int) string {
	return fmt.Sprintf("%s… (the first of %d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}
