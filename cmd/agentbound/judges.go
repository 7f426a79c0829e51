package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/judge/rubric"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/file"
)

// What --judge accepts.
const (
	judgeProgram = "program"
	judgeRubric  = "rubric"
	judgeBoth    = "both"
)

// judging is how rubric judges are asked.
type judging struct {
	models      []string
	samples     int
	thoughts    bool
	temperature string // empty: 0 for one sample, else the provider's own
	modelOptions
}

// asked reports whether anything was said of it.
func (o judging) asked() bool {
	return len(o.models) > 0 || o.samples != 0 || o.thoughts || o.temperature != ""
}

// judging takes what a request says of rubric judges; how endpoints are asked is as for
// the subject, but for its effort.
func (r request) judging(as modelOptions) judging {
	as.effort, as.part = "", model.PartJudge
	return judging{models: r.JudgeModels, samples: r.JudgeSamples, thoughts: r.JudgeThoughts, temperature: r.JudgeTemperature, modelOptions: as}
}

// addJudge declares the flags that name a judge.
func addJudge(cmd *cobra.Command, r *request) {
	f := cmd.Flags()
	f.StringVar(&r.Judge, "judge", judgeProgram, "judge: program, rubric (a language model), or both")
	f.StringArrayVar(&r.JudgeModels, "judge-model", nil, "model of the rubric judge, such as compat:MODEL@BASE_URL, or file:DIR for answers handed in by file; repeat for a panel")
	f.IntVar(&r.JudgeSamples, "judge-samples", 0, "answers of each judge model, with a majority; models × samples is odd; 0: 1")
	f.BoolVar(&r.JudgeThoughts, "judge-thoughts", false, "show the subject's Thoughts to the rubric judge")
	f.StringVar(&r.JudgeTemperature, "judge-temperature", "", "temperature of the rubric judge; empty: 0 for one sample, else the provider's own")
}

// judges resolves what --judge names, the headline's first.
func (r rooms) judges(spec string, o judging) ([]judge.Judge, error) {
	program := programjudge.Judge{Cache: r.cache}
	switch spec {
	case judgeProgram, programjudge.Config:
		if o.asked() {
			return nil, usage("--judge-model and the other --judge-… flags are of --judge rubric or both; the judge is %s", spec)
		}
		return []judge.Judge{program}, nil
	case judgeRubric, judgeBoth:
		rubric, err := r.rubric(o)
		if err != nil {
			return nil, err
		}
		if spec == judgeBoth {
			return []judge.Judge{program, rubric}, nil
		}
		return []judge.Judge{rubric}, nil
	}
	return nil, usage("judge %q is not known; accepted: program, rubric, both", spec)
}

// rubric makes the judge that asks models.
func (r rooms) rubric(o judging) (*rubric.Judge, error) {
	if len(o.models) == 0 {
		return nil, usage("a rubric judge needs --judge-model: compat:MODEL@BASE_URL, or file:DIR for answers handed in by file")
	}
	options := rubric.Options{Samples: o.samples, Thoughts: o.thoughts}
	for _, spec := range o.models {
		m, err := r.judgeModel(spec, o.modelOptions)
		if err != nil {
			return nil, usage("--judge-model: %w", err)
		}
		options.Models = append(options.Models, m)
	}
	if o.temperature != "" {
		t, err := strconv.ParseFloat(o.temperature, 64)
		if err != nil || !(t >= 0 && t <= math.MaxFloat32) { // also not a number
			return nil, usage("--judge-temperature %q: want a number from 0", o.temperature)
		}
		options.Temperature = &t
	}
	j, err := rubric.New(options)
	if err != nil {
		return nil, usage("--judge rubric: %w; see --judge-model and --judge-samples", err)
	}
	return j, nil
}

// judgeModel resolves a model, or answers by file.
func (r rooms) judgeModel(spec string, o modelOptions) (model.Model, error) {
	if kind, _, _ := strings.Cut(spec, ":"); kind == file.Scheme {
		f, err := file.New(spec)
		if err != nil {
			return nil, err
		}
		return byFile{r.keep.told(f, o.part), f}, nil
	}
	return r.model(spec, o)
}

// byFile is a model whose answers are handed in by file, as it is recorded or replayed.
type byFile struct {
	model.Model
	file *file.Model
}

// judgeModels are the models that the judges ask; none where none does.
func judgeModels(judges []judge.Judge) (all []model.Model) {
	for _, j := range judges {
		if asks, ok := j.(*rubric.Judge); ok {
			all = append(all, asks.Models()...)
		}
	}
	return all
}

// warnSameModel says where a judge's model is the subject's too, however each is named.
func warnSameModel(w io.Writer, by *spending, judges []judge.Judge, subject agentbound.AgentRef) error {
	for _, m := range judgeModels(judges) {
		if subject.Kind != "model" || by == nil {
			continue
		}
		warning, err := by.selfJudged(subject.Name, m.Ref().Name)
		if err != nil {
			return err
		}
		if warning != "" {
			fmt.Fprintln(w, plainLine(warning))
		}
	}
	return nil
}

// tellAwaited says which answers by file are still to come.
func tellAwaited(w io.Writer, models ...model.Model) {
	for _, m := range models {
		if f, ok := m.(byFile); ok {
			if n, into := f.file.Awaited(); n > 0 {
				fmt.Fprintf(w, "%s no answer yet: answers go to %s, named as the question\n", counted(n, "question has", "questions have"), plainLine(into))
			}
		}
	}
}
