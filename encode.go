package agentbound

import (
	"strconv"
)

// AppendTrajectory appends the JSON of a trajectory, byte for byte that of EncodeJSON.
// Runs store thousands a second, and encoding/json looks at each Value several times;
// a test holds the two against each other.
func AppendTrajectory(b []byte, t *Trajectory) ([]byte, error) {
	b = append(b, `{"version":`...)
	b = strconv.AppendInt(b, int64(t.Version), 10)
	b = appendText(b, `,"task":`, string(t.Task))
	b = appendText(b, `,"agent":`, t.Agent)
	b = appendText(b, `,"intervention":`, t.Intervention)
	b = appendText(b, `,"world":`, t.World)
	b = appendLimits(append(b, `,"limits":`...), t.Limits)
	b = append(b, `,"seed":`...)
	b = strconv.AppendUint(b, t.Seed, 10)
	b = appendText(b, `,"setting":`, t.Setting)
	b = appendText(b, `,"instruction":`, t.Instruction)
	b = append(b, `,"tools":`...)
	b = appendList(b, t.Tools, appendTool)
	b = appendValue(append(b, `,"start":`...), t.Start)
	b, err := appendSteps(append(b, `,"steps":`...), t.Steps)
	if err != nil {
		return nil, err
	}
	b = appendText(b, `,"outcome":{"word":`, string(t.Outcome.Word))
	b = appendIf(b, `,"reason":`, t.Outcome.Reason)
	b = appendIf(b, `,"text":`, t.Outcome.Text)
	b = appendIf(b, `,"refused_by":`, t.Outcome.RefusedBy)
	b = appendText(b, `},"end":{"reason":`, string(t.End.Reason))
	b = appendIf(b, `,"fault":`, t.End.Fault)
	b = append(b, '}')
	if t.WorldUsage != nil {
		if b, err = appendAny(b, `,"world_usage":`, t.WorldUsage); err != nil {
			return nil, err
		}
	}
	if t.Harness != nil {
		if b, err = appendAny(b, `,"harness":`, t.Harness); err != nil {
			return nil, err
		}
	}
	if t.Fork != nil {
		if b, err = appendAny(b, `,"fork":`, t.Fork); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendLimits(b []byte, l Limits) []byte {
	for _, f := range []struct {
		key string
		n   int
	}{{`{"steps":`, l.Steps}, {`,"calls":`, l.Calls}, {`,"seconds":`, l.Seconds}, {`,"observation":`, l.Observation}, {`,"args":`, l.Args}} {
		b = strconv.AppendInt(append(b, f.key...), int64(f.n), 10)
	}
	return append(b, '}')
}

func appendSteps(b []byte, steps []Step) ([]byte, error) {
	if steps == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i := range steps {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendStep(b, &steps[i]); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendStep(b []byte, s *Step) (_ []byte, err error) {
	b = appendText(b, `{"thought":`, s.Thought)
	b = appendText(b, `,"thought_source":`, string(s.ThoughtSource))
	if s.Draft != nil {
		if b, err = appendAny(b, `,"draft":`, s.Draft); err != nil {
			return nil, err
		}
	}
	if s.Review != nil {
		if b, err = appendAny(b, `,"review":`, s.Review); err != nil {
			return nil, err
		}
	}
	b = append(b, `,"calls":`...)
	if b, err = appendCalls(b, s.Calls); err != nil {
		return nil, err
	}
	if s.Usage == (Usage{}) {
		b = append(b, `,"usage":{}`...)
	} else if b, err = appendAny(b, `,"usage":`, s.Usage); err != nil {
		return nil, err
	}
	b = append(b, `,"ms":`...)
	b = strconv.AppendInt(b, s.MS, 10)
	if s.Said != nil {
		if b, err = appendAny(b, `,"said":`, s.Said); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendCalls(b []byte, calls []CallRecord) (_ []byte, err error) {
	if calls == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i := range calls {
		c := &calls[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, `{"tool":`, c.Tool)
		b = appendValue(append(b, `,"args":`...), c.Args)
		if c.Limited {
			b = append(b, `,"limited":true`...)
		}
		b = strconv.AppendBool(append(b, `,"ok":`...), c.OK)
		b = appendValue(append(b, `,"observation":`...), c.Observation)
		if c.Gate != nil {
			if b, err = appendAny(b, `,"gate":`, c.Gate); err != nil {
				return nil, err
			}
		}
		if len(c.Diff) > 0 {
			b = appendList(append(b, `,"diff":`...), c.Diff, appendOp)
		}
		if len(c.Event) > 0 {
			b = appendList(append(b, `,"event":`...), c.Event, appendOp)
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

func appendTool(b []byte, t Tool) []byte {
	b = appendText(b, `{"name":`, t.Name)
	b = appendText(b, `,"description":`, t.Description)
	b = appendValue(append(b, `,"input_schema":`...), t.Schema)
	return append(b, '}')
}

func appendOp(b []byte, o Op) []byte {
	b = appendText(b, `{"op":`, o.Op)
	b = appendText(b, `,"path":`, o.Path)
	if len(o.Value) > 0 {
		b = appendValue(append(b, `,"value":`...), o.Value)
	}
	return append(b, '}')
}

func appendList[T any](b []byte, items []T, appendItem func([]byte, T) []byte) []byte {
	if items == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, x := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendItem(b, x)
	}
	return append(b, ']')
}

func appendValue(b []byte, v Value) []byte {
	if len(v) == 0 {
		v = Null
	}
	return append(b, v...)
}

func appendAny(b []byte, key string, v any) ([]byte, error) {
	enc, err := EncodeJSON(v)
	return append(append(b, key...), enc...), err
}

// appendText appends a key as it stands and a string quoted: the plain one at once, any
// other as encoding/json has it.
func appendText(b []byte, key, s string) []byte {
	b = append(b, key...)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return append(b, quoted(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendIf leaves an empty string out.
func appendIf(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendText(b, key, s)
}

func quoted(s string) []byte {
	enc, err := EncodeJSON(s)
	if err != nil { // a string always encodes
		panic(err)
	}
	return enc
}
