package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// GeminiProgram is generateContent and streamGenerateContent as agent programs use them:
// with settings that our own adapter has no use for.
type GeminiProgram struct{ Gemini }

// Decode implements Protocol.
func (GeminiProgram) Decode(r *http.Request, body []byte, _ Options) (asked model.Request, name string, stream bool, err error) {
	path := geminiPath.FindStringSubmatch(r.URL.Path)
	name, stream = path[1], path[2] == "streamGenerateContent"
	if stream && r.URL.Query().Get("alt") != "sse" {
		return asked, "", false, errors.New("a stream is told as events only")
	}
	var w struct {
		System   geminiContent   `json:"systemInstruction"`
		Contents []geminiContent `json:"contents"`
		Tools    []struct {
			Declarations []geminiTool `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return asked, "", false, err
	}
	for _, p := range w.System.Parts {
		if p.Text != nil {
			asked.Messages = append(asked.Messages, model.Message{Role: model.System, Text: *p.Text})
		}
	}
	for _, t := range w.Tools {
		for _, d := range t.Declarations {
			if !geminiName.MatchString(d.Name) {
				return asked, "", false, fmt.Errorf("the function name %q", d.Name)
			}
			asked.Tools = append(asked.Tools, agentbound.Tool{Name: d.Name})
		}
	}
	var c geminiTalk
	for i, content := range w.Contents {
		if err := number("contents", i, c.content(content)); err != nil {
			return asked, "", false, err
		}
	}
	if err := c.end(); err != nil {
		return asked, "", false, err
	}
	asked.Messages = append(asked.Messages, c.messages...)
	return asked, name, stream, nil
}
