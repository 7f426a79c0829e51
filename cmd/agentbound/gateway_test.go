package main

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbound/agentbound/intervene"
)

// TestGatewayRetries: somebody waits for a live corrector: a model that fails is asked once
// more, soon, and one that asks for a long pause not at all.
func TestGatewayRetries(t *testing.T) {
	for after, want := range map[string]int32{"": 2, "30": 1} {
		var asked atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(s.Close)
		i, err := newRooms().corrector("aligner:compat:m@" + s.URL + "/v1")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = i.Corrector.Correct(t.Context(), intervene.Context{Instruction: "Pay.", Thought: "I pay."})
		if err == nil || asked.Load() != want || time.Since(began) > 5*time.Second {
			t.Errorf("Retry-After %q: asked %d times in %v: %v", after, asked.Load(), time.Since(began), err)
		}
	}
}
