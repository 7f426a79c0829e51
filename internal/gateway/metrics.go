package gateway

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// meters are what a gateway counts. They hold no text and no key.
type meters struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	reviews  *prometheus.CounterVec
	seconds  prometheus.Histogram
	tokens   *prometheus.HistogramVec
	inFlight prometheus.Gauge
	paused   prometheus.Gauge
	audits   *prometheus.CounterVec
}

func newMeters() *meters {
	m := &meters{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentbound_gateway_requests_total", Help: "Requests by protocol and what became of them: a result of the review, passed without one, aside, busy, or the kind of a fault.",
		}, []string{"protocol", "result"}),
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentbound_gateway_reviews_total", Help: "Decisions: kept, changed or failed, also where the corrector was not asked since it is paused.",
		}, []string{"result"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "agentbound_gateway_corrector_seconds", Help: "How long a correction took.", Buckets: []float64{.0005, .001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		tokens: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "agentbound_gateway_corrector_tokens", Help: "Tokens of a correction.", Buckets: prometheus.ExponentialBuckets(16, 2, 14),
		}, []string{"direction"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "agentbound_gateway_in_flight", Help: "Requests in flight."}),
		paused:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "agentbound_gateway_corrector_paused", Help: "1 while the corrector, which failed, is not asked."}),
		audits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agentbound_gateway_audit_entries_total", Help: "Entries of the audit log: written, or failed to be.",
		}, []string{"result"}),
	}
	m.registry.MustRegister(m.requests, m.reviews, m.seconds, m.tokens, m.inFlight, m.paused, m.audits, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *meters) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// review counts one.
func (m *meters) review(r *review) {
	result := Kept
	switch {
	case r.failed != "":
		result = Failed
	case r.changed:
		result = Changed
	}
	m.reviews.WithLabelValues(string(result)).Inc()
	if r.unasked {
		return
	}
	m.seconds.Observe(r.took.Seconds())
	if in, out := r.usage.InputTokens, r.usage.OutputTokens; in+out > 0 {
		m.tokens.WithLabelValues("input").Observe(float64(in))
		m.tokens.WithLabelValues("output").Observe(float64(out))
	}
}
