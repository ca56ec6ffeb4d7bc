package controller_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piworkflows/controller"
)

// settled is a resource that is ready, with a host and its controller.
func settled() controller.Situation {
	return controller.Situation{
		Resource: controller.Raw{
			Metadata: controller.Metadata{Controller: "c", Key: "k", Generation: 2},
			Status: controller.Status[json.RawMessage]{ObservedGeneration: 2, Conditions: []controller.Condition{
				{Type: controller.Ready, Status: controller.True, Reason: "Done", ObservedGeneration: 2},
			}},
		},
		Queue:  controller.QueueRow{State: controller.QueueNone},
		Loaded: true, HostRuns: true, Now: time.Unix(100, 0),
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	later := time.Unix(130, 0)
	not := func(s *controller.Situation, status controller.ConditionStatus, reason, message string) {
		s.Resource.Status.Conditions[0] = controller.Condition{
			Type: controller.Ready, Status: status, Reason: reason, Message: message, ObservedGeneration: 2,
		}
	}
	tests := []struct {
		name     string
		change   func(s *controller.Situation)
		standing controller.Standing
		want     []string // code → who acts: what to do
	}{
		{"ready", func(*controller.Situation) {}, controller.StandingReady, []string{"ready → nobody"}},
		{"blocked", func(s *controller.Situation) { not(s, controller.False, "Conflict", "in a.go") },
			controller.StandingBlocked, []string{"not_ready → person: apply c k"}},
		{"a pass is due", func(s *controller.Situation) {
			not(s, controller.Unknown, "Verifying", "")
			s.Queue.State = controller.QueueReady
		}, controller.StandingProgressing, []string{"pass_due → host", "readiness_unknown → host"}},
		{"no host", func(s *controller.Situation) {
			s.HostRuns, s.Queue.State, s.Resource.Status.ObservedGeneration, s.Resource.Status.Conditions = false, controller.QueueReady, 0, nil
		}, controller.StandingProgressing, []string{"no_host → person: host", "pass_due → host", "never_observed → host"}},
		{"a pass runs", func(s *controller.Situation) { s.Queue.State = controller.QueueClaimed },
			controller.StandingReady, []string{"pass_running → host", "ready → nobody"}},
		{"errors", func(s *controller.Situation) {
			not(s, controller.False, "Down", "")
			s.Queue = controller.QueueRow{State: controller.QueueDelayed, AvailableAt: &later, ConsecutiveErrors: 3, LastError: "refused"}
		}, controller.StandingProgressing, []string{"error_backoff at 130 → time: reconcile c k", "not_ready → person: apply c k"}},
		{"retries", func(s *controller.Situation) {
			s.Queue = controller.QueueRow{State: controller.QueueDelayed, AvailableAt: &later, Retries: 1}
		}, controller.StandingReady, []string{"error_backoff at 130 → time: reconcile c k", "ready → nobody"}},
		{"a delay", func(s *controller.Situation) {
			s.Queue = controller.QueueRow{State: controller.QueueDelayed, AvailableAt: &later}
		}, controller.StandingReady, []string{"pass_delayed at 130 → time: reconcile c k", "ready → nobody"}},
		{"stalled", func(s *controller.Situation) {
			not(s, controller.Unknown, "Verifying", "")
			s.Queue.Stalled = "no such branch"
		}, controller.StandingStalled, []string{"stalled → person: reconcile c k", "readiness_unknown → host"}},
		{"suspended", func(s *controller.Situation) {
			s.Queue = controller.QueueRow{State: controller.QueueSuspended, Suspension: &controller.Suspension{Actor: "ada", Reason: "holidays"}}
		}, controller.StandingSuspended, []string{"suspended → person: unsuspend c k", "ready → nobody"}},
		{"no such controller here", func(s *controller.Situation) { s.Loaded, s.Queue.State = false, controller.QueueReady },
			controller.StandingReady, []string{"controller_not_loaded → definition: run a host of the program that has it", "pass_due → host", "ready → nobody"}},
		{"an old generation, and nothing queued", func(s *controller.Situation) { s.Resource.Metadata.Generation = 3 },
			controller.StandingProgressing, []string{"never_observed → host: reconcile c k"}},
		{"an effect in doubt", func(s *controller.Situation) {
			s.Effects = []controller.EffectRecord{{Key: "e", State: controller.EffectIndeterminate}, {Key: "f", State: controller.EffectApplied}}
		}, controller.StandingReady, []string{"effect_in_doubt → provider: effects resolve c k e VERDICT --reason WHY", "ready → nobody"}},
		{"an effect in a frozen project", func(s *controller.Situation) {
			s.Effects = []controller.EffectRecord{{Key: "e", State: controller.EffectPending}}
			s.Frozen = &controller.Suspension{Actor: "ada"}
		}, controller.StandingReady, []string{
			"frozen → person: unfreeze", "effect_in_doubt → provider: effects resolve c k e VERDICT --reason WHY", "ready → nobody",
		}},
		{"children", func(s *controller.Situation) {
			s.Children = []controller.ChildRun{
				{RunID: "r1", State: controller.RunRunning}, {RunID: "r2", State: controller.RunWaiting}, {RunID: "r3", State: controller.RunFailed},
			}
		}, controller.StandingReady, []string{"child_running → host: view r1", "child_waiting → person: answer r2", "ready → nobody"}},
		{"a deletion that is held", func(s *controller.Situation) {
			s.Resource.Metadata.DeletionTimestamp, s.Resource.Metadata.Finalizers = &later, []string{"f"}
		}, controller.StandingDeleting, []string{"held_by_finalizer → host"}},
		{"a deletion", func(s *controller.Situation) { s.Resource.Metadata.DeletionTimestamp = &later },
			controller.StandingDeleting, []string{"deletion_due → host"}},
	}
	seen := map[controller.ReasonCode]bool{}
	for _, test := range tests {
		s := settled()
		test.change(&s)
		got := controller.Explain(s)
		var reasons []string
		for _, c := range got.Reasons {
			seen[c.Code] = true
			reasons = append(reasons, written(c))
			if c.Message == "" {
				t.Errorf("%s: %s says nothing", test.name, c.Code)
			}
		}
		if diff := cmp.Diff(test.want, reasons); diff != "" || got.Standing != test.standing {
			t.Errorf("%s: %s, want %s (-want +got):\n%s", test.name, got.Standing, test.standing, diff)
		}
	}
	for _, code := range controller.ReasonCodes() {
		if !seen[code] {
			t.Errorf("no case for %s", code)
		}
	}
}

// written is a cause in short.
func written(c controller.Cause) string {
	text := string(c.Code)
	if c.At != nil {
		text += fmt.Sprint(" at ", c.At.Unix())
	}
	text += " → " + string(c.Next)
	if c.Do != "" {
		text += ": " + c.Do
	}
	return text
}

// Whatever the situation is, there is a reason, and the document knows its code.
func TestEverySituationHasAReason(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "docs", "reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range controller.ReasonCodes() {
		if !strings.Contains(string(document), "\n| `"+string(code)+"` |") {
			t.Errorf("docs/reasons.md has no entry for %s", code)
		}
	}
	now := time.Unix(100, 0)
	maybe := func(t *rapid.T, what string) *time.Time {
		if rapid.Bool().Draw(t, what) {
			return &now
		}
		return nil
	}
	rapid.Check(t, func(t *rapid.T) {
		s := settled()
		s.Loaded, s.HostRuns = rapid.Bool().Draw(t, "loaded"), rapid.Bool().Draw(t, "host")
		s.Resource.Metadata.DeletionTimestamp = maybe(t, "deleting")
		s.Resource.Metadata.Finalizers = rapid.SampledFrom([][]string{nil, {"f"}}).Draw(t, "finalizers")
		s.Resource.Metadata.Generation = rapid.Int64Range(1, 3).Draw(t, "generation")
		s.Resource.Status.Conditions[0].Status = rapid.SampledFrom([]controller.ConditionStatus{
			controller.True, controller.False, controller.Unknown,
		}).Draw(t, "ready")
		s.Queue = controller.QueueRow{
			State: rapid.SampledFrom([]controller.QueueState{
				controller.QueueNone, controller.QueueReady, controller.QueueDelayed, controller.QueueClaimed, controller.QueueSuspended,
			}).Draw(t, "queue"),
			AvailableAt:       maybe(t, "available"),
			ConsecutiveErrors: rapid.IntRange(0, 1).Draw(t, "errors"), Retries: rapid.IntRange(0, 1).Draw(t, "retries"),
			Stalled: rapid.SampledFrom([]string{"", "no"}).Draw(t, "stalled"),
		}
		if rapid.Bool().Draw(t, "suspended") {
			s.Queue.Suspension = &controller.Suspension{}
		}
		e := controller.Explain(s)
		if len(e.Reasons) == 0 || e.Standing == "" {
			t.Fatalf("no reason for %+v", s)
		}
		for _, c := range e.Reasons {
			if !slices.Contains(controller.ReasonCodes(), c.Code) || c.Next == "" || c.Message == "" {
				t.Fatalf("reason %+v", c)
			}
		}
	})
}
