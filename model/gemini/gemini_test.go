package gemini_test

import (
	"testing"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/gemini"
	"github.com/agentbound/agentbound/model/modeltest"
)

func hello() model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}
}

// serve gives a peer of the protocol.
func serve(t testing.TB, o modeltest.Options) *modeltest.Peer {
	t.Helper()
	o.Protocol = modeltest.Gemini{}
	return modeltest.Serve(t, o)
}

func open(t testing.TB, spec string, o gemini.Options) *gemini.Model {
	t.Helper()
	if o.Retry.Sleep == nil {
		o.Retry = modeltest.Retry()
	}
	m, err := gemini.New(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// connect gives a model behind a fresh peer.
func connect(t *testing.T, o modeltest.Options, stream bool) model.Model {
	t.Helper()
	return open(t, "test-model@"+serve(t, o).URL, gemini.Options{Key: o.Key, Stream: stream})
}

func TestContract(t *testing.T) {
	for name, stream := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, func(t *testing.T, o modeltest.Options) model.Model { return connect(t, o, stream) },
				modeltest.Objects)
		})
	}
}
