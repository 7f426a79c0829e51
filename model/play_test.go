package model_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
)

// TestPlay is found in its context, keeps what each owner gives it, counts time by turns
// alone, and ends once.
func TestPlay(t *testing.T) {
	if p := model.PlayOf(t.Context()); p != nil {
		t.Errorf("a play out of nowhere: %v", p)
	}
	p := &model.Play{Repeat: 3}
	if model.PlayOf(model.WithPlay(t.Context(), p)) != p {
		t.Error("it is not found")
	}
	made := 0
	fresh := func() any { made++; return made }
	if a, b, c := p.Keep("a", fresh), p.Keep("b", fresh), p.Keep("a", fresh); a != 1 || b != 2 || c != 1 {
		t.Errorf("kept %v, %v, %v", a, b, c)
	}
	began := p.Now()
	p.Took(1500 * time.Millisecond)
	p.Took(500 * time.Millisecond)
	if d := p.Now().Sub(began); d != 2*time.Second {
		t.Errorf("the clock moved by %s", d)
	}
	var ends []string
	p.AtEnd(func(_ bool, why string) { ends = append(ends, why) })
	p.End(false, "so")
	p.End(true, "again")
	if d := cmp.Diff([]string{"so"}, ends); d != "" {
		t.Error(d)
	}
}

// TestNoticing tells of attempts that failed for a while, and of no others.
func TestNoticing(t *testing.T) {
	var noticed []model.Fault
	var further []model.Fault
	ctx := model.Noticing(t.Context(), func(e *model.Error) { further = append(further, e.Fault) })
	ctx = model.Noticing(ctx, func(e *model.Error) { noticed = append(noticed, e.Fault) })
	asked := 0
	r := model.Retry{Sleep: func(context.Context, time.Duration) error { return nil }}
	if _, err := r.Do(ctx, fails(&asked, &model.Error{Fault: model.FaultRate}, &model.Error{Fault: model.FaultServer}, &model.Error{Fault: model.FaultKey})); err == nil {
		t.Error("no error")
	}
	for _, told := range [][]model.Fault{noticed, further} {
		if d := cmp.Diff([]model.Fault{model.FaultRate, model.FaultServer}, told); d != "" {
			t.Error(d)
		}
	}
}
