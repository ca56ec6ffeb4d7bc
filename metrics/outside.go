package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"piworkflows/controller"
)

// outside counts what passes and runs do beside the queue.
type outside struct {
	effects, children         *prometheus.CounterVec
	childrenLost, storeErrors prometheus.Counter
}

func newOutside() outside {
	return outside{
		effects:  counter("effects_total", "What passes recorded of effects, by the state they recorded.", byController, "state"),
		children: counter("child_runs_total", "Child runs that came into a state.", "state"),
		childrenLost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: Prefix + "child_claims_lost_total", Help: "Child runs whose claim was lost while they ran here.",
		}),
		storeErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: Prefix + "store_errors_total", Help: "Operations of the store that failed and were tried again.",
		}),
	}
}

func (s outside) collectors() []prometheus.Collector {
	return []prometheus.Collector{s.effects, s.children, s.childrenLost, s.storeErrors}
}

// know makes every series of every controller.
func (s outside) know(definitions []*controller.Definition) {
	for _, d := range definitions {
		for _, state := range []controller.EffectState{
			controller.EffectPending, controller.EffectApplied, controller.EffectRejected, controller.EffectIndeterminate,
		} {
			s.effects.WithLabelValues(d.Name, string(state))
		}
	}
}

// begin makes every series that belongs to no controller.
func (s outside) begin() {
	for _, state := range []controller.RunState{
		controller.RunPending, controller.RunRunning, controller.RunWaiting, controller.RunSucceeded, controller.RunFailed,
		controller.RunInterrupted,
	} {
		s.children.WithLabelValues(string(state))
	}
}
