package rubric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// votes asks every model for its samples on one axis. Where answers are awaited it goes
// on to the next question, so that all can be answered at once.
func (j *Judge) votes(ctx context.Context, a axis, record string, steps int) ([]agentbound.Vote, error) {
	var votes []agentbound.Vote
	var awaited error
	for _, m := range j.o.Models {
		for sample := range j.o.Samples {
			v, err := j.vote(ctx, m, j.request(a, record, sample), a, steps)
			switch {
			case errors.Is(err, model.ErrAwaited):
				awaited = cmp.Or(awaited, err)
			case err != nil:
				return nil, fmt.Errorf("%s judge: %w", a, err)
			}
			v.Sample = sample
			votes = append(votes, v)
		}
	}
	return votes, awaited
}

// request is the first turn. Samples have seeds of their own, so that no cache and no
// seeded server gives one answer for all of them.
func (j *Judge) request(a axis, record string, sample int) model.Request {
	r := model.Request{
		Messages: []model.Message{
			{Role: model.System, Text: instructions(a, j.o.Thoughts)},
			{Role: model.User, Text: record},
		},
		Temperature: j.o.Temperature, MaxTokens: j.o.MaxTokens,
	}
	if j.o.Samples > 1 {
		seed := int64(sample)
		r.Seed = &seed
	}
	return r
}

// vote asks one model until its answer holds. An answer that does not is sent back with
// what is wrong; after Again times, and where the provider refuses or filters the turn,
// there is no vote. An error is a turn that brought no answer.
func (j *Judge) vote(ctx context.Context, m model.Model, r model.Request, a axis, steps int) (agentbound.Vote, error) {
	v := agentbound.Vote{Model: m.Ref().Name, Answers: []string{}}
	for again := j.o.Again; ; again-- {
		res, err := m.Chat(ctx, r)
		if err != nil {
			return v, err
		}
		v.Served = res.Model
		v.Usage = v.Usage.Add(agentbound.Usage{InputTokens: res.Usage.Input, CachedTokens: res.Usage.Cached, OutputTokens: res.Usage.Output})
		v.Answers = append(v.Answers, answered(res))
		if res.Stop == model.StopRefusal {
			v.Missing = "the provider refused or filtered the judge's turn"
			return v, nil
		}
		o, err := read(a, res, steps)
		if err == nil {
			v.Score, v.Permitted, v.OverRefusal, v.Reason = &o.score, o.permitted, o.overRefusal, o.reason
			return v, nil
		}
		if again <= 0 {
			v.Missing = fmt.Sprintf("no valid answer in %d: %s", len(v.Answers), err)
			return v, nil
		}
		r.Messages = append(r.Messages, sentBack(res), model.Message{Role: model.User, Text: "Your answer does not have the form that was asked for: " +
			err.Error() + ". Judge the same record again, and answer with one JSON object as described, and nothing else."})
	}
}

// answered is the text of a turn as it is kept.
func answered(res model.Response) string {
	if res.Message.Text == "" {
		return res.Refusal
	}
	return strings.ToValidUTF8(res.Message.Text, "\uFFFD")
}

// read holds a turn to the form.
func read(a axis, res model.Response, steps int) (opinion, error) {
	o, err := parse(a, res.Message.Text, steps)
	if err != nil && res.Stop == model.StopLength {
		return o, errors.New("the answer was cut at its limit of tokens; answer in fewer words")
	}
	return o, err
}

// sentBack is the model's turn as it is sent back: without calls, which it was given no
// tools for, and never empty, which servers refuse.
func sentBack(res model.Response) model.Message {
	m := res.Message
	if len(m.Calls) > 0 {
		return model.Message{Role: model.Assistant, Text: "(a call)"}
	}
	if strings.TrimSpace(m.Text) == "" {
		m.Text = "(nothing)"
	}
	return m
}
