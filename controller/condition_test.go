package controller_test

import (
	"testing"

	"piworkflows/controller"
)

func TestReadinessOf(t *testing.T) {
	t.Parallel()
	ready := func(observed int64) []controller.Condition {
		c := controller.ConditionTrue("Ready", "Merged", "by hand")
		c.ObservedGeneration = observed
		return []controller.Condition{controller.ConditionFalse("Verified", "Waiting", ""), c}
	}
	tests := []struct {
		name       string
		observed   int64
		conditions []controller.Condition
		status     controller.ConditionStatus
		reason     string
	}{
		{"of this generation", 2, ready(2), controller.True, "Merged"},
		{"of an older generation", 2, ready(1), controller.Unknown, controller.ReasonOutdatedGeneration},
		{"no pass yet", 0, nil, controller.Unknown, controller.ReasonNotObserved},
		{"no Ready condition", 2, ready(2)[:1], controller.Unknown, controller.ReasonNoReadyCondition},
	}
	for _, test := range tests {
		r := controller.Raw{Metadata: controller.Metadata{Generation: 2}}
		r.Status.ObservedGeneration, r.Status.Conditions = test.observed, test.conditions
		got := controller.ReadinessOf(r)
		if got.Status != test.status || got.Reason != test.reason || got.Message == "" {
			t.Errorf("%s: %+v, want %s because of %s", test.name, got, test.status, test.reason)
		}
	}
}
