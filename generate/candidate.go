package generate

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/suite/validate"
)

// at is where a candidate stands between two rounds.
type at struct {
	round    int // the next one, from 1
	draw     Draw
	revision int
	files    Files  // the package so far; nil: none
	feedback string // of the last round
}

// candidate takes one candidate to its end, or as far as answers and budget go. Rounds
// that have a report are read and not made again.
func (r *runner) candidate(ctx context.Context, c *Candidate) error {
	d, err := r.draw(c.Candidate, 1)
	if err != nil {
		return err
	}
	p := at{round: 1, draw: d}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.Class, c.Draws, c.Rounds = p.draw.Class, p.draw.Number, p.round
		j, files, err := r.round(ctx, c.Candidate, p)
		if err != nil {
			c.Rounds--
			return r.halted(c, p.round, err)
		}
		c.Failed = j.report().Failed()
		if j.Passed {
			c.Status, c.Family, c.Failed = Accepted, agentbound.FamilyID(j.Family), nil
			return r.record(*c)
		}
		more, err := r.next(c.Candidate, &p, j, files)
		if err != nil {
			return err
		}
		if !more {
			c.Status = GivenUp
			r.tell(c.Candidate, p.round, "given up after %d draws", p.draw.Number)
			return r.record(*c)
		}
	}
}

// halted says why a candidate stands still. What is no failure is no error.
func (r *runner) halted(c *Candidate, round int, err error) error {
	f := r.folder(c.Candidate, round)
	switch {
	case errors.Is(err, errWaiting):
		c.Status, c.Prompt, c.Answer = Waiting, f.path(promptFile), f.path(answerFile)
		return nil
	case errors.Is(err, errHalted):
		return nil
	case errors.Is(err, errBudget):
		c.Status = Stopped
		r.tell(c.Candidate, round, "stopped: the budget does not reach for another call")
		return nil
	}
	return err
}

// next moves on after a round that did not pass: to a revision, or to another draw. A
// provider's refusal is not argued with.
func (r *runner) next(candidate int, p *at, j Judgement, files Files) (more bool, err error) {
	p.round++
	if p.revision < r.o.Revisions && !j.Refused {
		p.revision++
		p.files, p.feedback = files, j.report().Feedback()
		return true, nil
	}
	if p.draw.Number > r.o.Resamples {
		p.round--
		return false, nil
	}
	p.draw, err = r.draw(candidate, p.draw.Number+1)
	p.revision, p.files, p.feedback = 0, nil, ""
	return true, err
}

// round makes one round: prompt, answer, validation. One that was made is read.
func (r *runner) round(ctx context.Context, candidate int, p at) (Judgement, Files, error) {
	f := r.folder(candidate, p.round)
	j, err := f.judgement()
	if err == nil && (!j.Passed || r.isInstalled(candidate, j.Family)) {
		files, err := f.readFamily()
		return j, files, err
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return j, nil, err
	}
	if r.faulted() != nil {
		return j, nil, errHalted
	}
	if err := r.ask(f, candidate, p); err != nil {
		return j, nil, err
	}
	answer, err := r.writer.write(ctx, f)
	if err != nil {
		return j, nil, err
	}
	return r.judge(ctx, f, candidate, p, answer)
}

// ask writes the prompt of a round, once: what somebody may be answering stays as it is.
func (r *runner) ask(f folder, candidate int, p at) error {
	if f.has(promptFile) {
		return nil
	}
	r.mu.Lock()
	accepted := hints(r.accepted, p.draw.Class)
	r.mu.Unlock()
	text, err := prompt(p.draw, accepted, p.revision > 0, p.files, p.feedback)
	if err != nil {
		return err
	}
	round := Round{Version: Version, Candidate: candidate, Round: p.round, Revision: p.revision, Draw: p.draw, Prompt: PromptVersion, Engine: r.o.Engine}
	if r.o.Model != nil {
		round.Model = r.o.Model.Ref().Name
	}
	if err := f.writeJSON(roundFile, round); err != nil {
		return err
	}
	r.tell(candidate, p.round, "asking for %s, draw %d, revision %d", p.draw.Class, p.draw.Number, p.revision)
	return f.write(promptFile, text)
}

// judge validates an answer and writes the report; a family that passes is accepted.
func (r *runner) judge(ctx context.Context, f folder, candidate int, p at, a Answer) (Judgement, Files, error) {
	j := Judgement{Version: Version, Candidate: candidate, Round: p.round, Draw: p.draw.Number, Revision: p.revision}
	files, problems := r.unpack(p, a)
	if err := f.writeFamily(files); err != nil {
		return j, nil, err
	}
	report, family := validate.Unreadable(problems...), (*agentbound.Family)(nil)
	if len(problems) == 0 {
		var err error
		if report, family, err = r.valid.Check(ctx, os.DirFS(f.path(familyDir)), p.wanted()); err != nil {
			return j, nil, err
		}
	}
	j.Refused = a.Stop == model.StopRefusal
	if family != nil {
		j.Family = string(family.ID)
	}
	if !report.Passed() {
		j.Gates = report.Gates
		r.tell(candidate, p.round, "failed: %s", joined(report.Failed()))
		return j, files, f.writeJSON(reportFile, j)
	}
	err := r.accept(f, &j, report, family, files, p)
	return j, files, err
}

func (p at) wanted() validate.Wanted {
	w := validate.Wanted{Class: p.draw.Class, Evidence: p.draw.Evidence, Level: p.draw.Level}
	if p.draw.Seed != nil {
		w.Seed = p.draw.Seed.Text
	}
	return w
}

// unpack gives the package as it stands after an answer: what is new over what there
// was. An answer that was cut is used where all its files are whole.
func (r *runner) unpack(p at, a Answer) (Files, []string) {
	if a.Stop == model.StopRefusal {
		why := a.Refusal
		if why == "" {
			why = a.Text
		}
		return p.files, []string{"the provider refused to answer: " + why}
	}
	found, problems := ParseAnswer(a.Text)
	if a.Stop == model.StopLength && (len(problems) > 0 || found[yamlName] == "" && p.files == nil) {
		problems = append([]string{fmt.Sprintf("the answer was cut at its limit of %d tokens: write less around the files, and a smaller world (fewer records, shorter texts)", r.o.MaxTokens)}, problems...)
	}
	files := Files{}
	for name, text := range p.files {
		files[name] = text
	}
	for name, text := range found {
		files[name] = text
	}
	if len(problems) == 0 && files[yamlName] == "" {
		problems = append(problems, "the answer has no family.yaml; write it whole, with FILE: family.yaml above its block")
	}
	return files, problems
}
