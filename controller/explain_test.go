package controller_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	delayed := func(s *controller.Situation, errors, retries int) {
		s.Queue = controller.QueueRow{
			State: controller.QueueDelayed, AvailableAt: &later, ConsecutiveErrors: errors, Retries: retries, LastError: "refused",
		}
	}
	effect := func(s *controller.Situation, state controller.EffectState) {
		s.Effects = []controller.EffectRecord{
			{Key: "e", State: state, Generation: 2, Error: "timeout"}, {Key: "f", State: controller.EffectApplied, Generation: 2},
		}
	}
	child := func(s *controller.Situation, state controller.RunState) {
		s.Children = []controller.ChildRun{{RunID: "r", State: state, Attempt: 1}, {RunID: "old", State: controller.RunFailed}}
	}
	deleting := func(s *controller.Situation, finalizers ...string) {
		s.Resource.Metadata.DeletionTimestamp, s.Resource.Metadata.Finalizers = &later, finalizers
	}
	const (
		observing = "effect_pending → provider: effects c k"
		doubtful  = "effect_in_doubt → provider: effects resolve c k e VERDICT --reason WHY"
		ready     = "ready → nobody"
	)
	tests := []struct {
		name     string
		change   func(s *controller.Situation)
		standing controller.Standing
		want     []string // code → who acts: what to do
	}{
		// What the controller says.
		{"ready", func(*controller.Situation) {}, controller.StandingReady, []string{ready}},
		{"condition false", func(s *controller.Situation) { not(s, controller.False, "Conflict", "in a.go") },
			controller.StandingBlocked, []string{"not_ready → person: apply c k --patch JSON"}},
		{"condition unknown", func(s *controller.Situation) { not(s, controller.Unknown, "Verifying", "") },
			controller.StandingProgressing, []string{"readiness_unknown → host"}},
		{"no condition", func(s *controller.Situation) { s.Resource.Status.Conditions = nil },
			controller.StandingProgressing, []string{"no_ready_condition → nobody"}},
		{"stale generation, queued", func(s *controller.Situation) {
			s.Resource.Metadata.Generation, s.Queue.State = 3, controller.QueueReady
		}, controller.StandingProgressing, []string{"pass_due → host", "generation_outdated → host"}},
		{"stale generation, and nothing queued", func(s *controller.Situation) { s.Resource.Metadata.Generation = 3 },
			controller.StandingProgressing, []string{"generation_outdated → person: reconcile c k"}},
		{"stale generation, without a condition", func(s *controller.Situation) {
			s.Resource.Metadata.Generation, s.Resource.Status.Conditions = 3, nil
		}, controller.StandingProgressing, []string{"generation_outdated → person: reconcile c k"}},
		{"never observed", func(s *controller.Situation) {
			s.Resource.Status.ObservedGeneration, s.Resource.Status.Conditions = 0, nil
		}, controller.StandingProgressing, []string{"never_observed → person: reconcile c k"}},

		// The queue.
		{"a pass is due", func(s *controller.Situation) {
			not(s, controller.Unknown, "Verifying", "")
			s.Queue.State = controller.QueueReady
		}, controller.StandingProgressing, []string{"pass_due → host", "readiness_unknown → host"}},
		{"a pass is due in the background", func(s *controller.Situation) {
			s.Queue.State, s.Queue.Lane = controller.QueueReady, controller.LaneBackground
		}, controller.StandingReady, []string{"pass_due → host", ready}},
		{"as many passes as there may be", func(s *controller.Situation) {
			s.Queue.State, s.Places = controller.QueueReady, controller.Places{Limit: 2, Running: 2}
		}, controller.StandingReady, []string{"controller_full → host", "pass_due → host", ready}},
		{"abandoned passes at the limit", func(s *controller.Situation) {
			s.Queue.State, s.Places = controller.QueueReady, controller.Places{Limit: 2, Running: 1, Abandoned: 1}
		}, controller.StandingReady, []string{"passes_abandoned → person: start the host anew", "pass_due → host", ready}},
		{"no host", func(s *controller.Situation) {
			s.HostRuns, s.Queue.State, s.Resource.Status.ObservedGeneration, s.Resource.Status.Conditions = false, controller.QueueReady, 0, nil
		}, controller.StandingProgressing, []string{"no_host → person: host", "pass_due → host", "never_observed → host"}},
		{"no host, delayed", func(s *controller.Situation) {
			delayed(s, 0, 0)
			s.HostRuns = false
		}, controller.StandingReady, []string{"no_host → person: host", "pass_delayed at 130 → time: reconcile c k", ready}},
		{"no host, and nothing to do", func(s *controller.Situation) { s.HostRuns = false }, controller.StandingReady, []string{ready}},
		{"claimed, by nobody that is known", func(s *controller.Situation) { s.Queue.State = controller.QueueClaimed },
			controller.StandingReady, []string{"pass_running → host", ready}},
		{"claimed by a live owner", func(s *controller.Situation) {
			s.Queue.State, s.Claimant = controller.QueueClaimed, &controller.Claimant{Label: "process 1"}
		}, controller.StandingReady, []string{"pass_running → host", ready}},
		{"claimed by a dead owner", func(s *controller.Situation) {
			s.Queue.State, s.Claimant = controller.QueueClaimed, &controller.Claimant{Label: "process 1", Dead: true}
		}, controller.StandingReady, []string{"owner_dead → host", ready}},
		{"claimed by a dead owner, no host", func(s *controller.Situation) {
			s.Queue.State, s.Claimant, s.HostRuns = controller.QueueClaimed, &controller.Claimant{Label: "process 1", Dead: true}, false
		}, controller.StandingReady, []string{"owner_dead → person: host", ready}},
		{"errors", func(s *controller.Situation) {
			delayed(s, 3, 1)
			not(s, controller.False, "Down", "")
		}, controller.StandingProgressing, []string{"error_backoff at 130 → time: reconcile c k", "not_ready → person: apply c k --patch JSON"}},
		{"retries", func(s *controller.Situation) { delayed(s, 0, 1) },
			controller.StandingReady, []string{"retry_backoff at 130 → time: reconcile c k", ready}},
		{"a delay", func(s *controller.Situation) { delayed(s, 0, 0) },
			controller.StandingReady, []string{"pass_delayed at 130 → time: reconcile c k", ready}},
		{"stalled", func(s *controller.Situation) {
			not(s, controller.Unknown, "Verifying", "")
			s.Queue.Stalled = "no such branch"
		}, controller.StandingStalled, []string{"stalled → person: reconcile c k", "readiness_unknown → host"}},
		{"suspended", func(s *controller.Situation) {
			s.Queue = controller.QueueRow{State: controller.QueueSuspended, Suspension: &controller.Suspension{Actor: "ada", Reason: "holidays"}}
		}, controller.StandingSuspended, []string{"suspended → person: unsuspend c k", ready}},
		{"suspended during a pass", func(s *controller.Situation) {
			s.Queue = controller.QueueRow{State: controller.QueueClaimed, Suspension: &controller.Suspension{}}
		}, controller.StandingSuspended, []string{"suspended → person: unsuspend c k", "pass_running → host", ready}},
		{"no such controller here", func(s *controller.Situation) { s.Loaded, s.Queue.State = false, controller.QueueReady },
			controller.StandingReady, []string{"controller_not_loaded → definition: run a host of the program that has it", "pass_due → host", ready}},

		// Effects.
		{"an effect pending", func(s *controller.Situation) { effect(s, controller.EffectPending) },
			controller.StandingReady, []string{observing, ready}},
		{"an effect indeterminate", func(s *controller.Situation) {
			effect(s, controller.EffectIndeterminate)
			delayed(s, 1, 0)
		}, controller.StandingReady, []string{doubtful, "error_backoff at 130 → time: reconcile c k", ready}},
		{"an effect rejected", func(s *controller.Situation) {
			effect(s, controller.EffectRejected)
			not(s, controller.False, "Refused", "")
		}, controller.StandingBlocked, []string{"effect_rejected → person: apply c k --patch JSON", "not_ready → person: apply c k --patch JSON"}},
		{"an effect rejected, and ready all the same", func(s *controller.Situation) { effect(s, controller.EffectRejected) },
			controller.StandingReady, []string{ready}},
		{"an effect in a frozen project", func(s *controller.Situation) {
			effect(s, controller.EffectPending)
			s.Frozen = &controller.Suspension{Actor: "ada"}
		}, controller.StandingReady, []string{"frozen → person: unfreeze", observing, ready}},
		{"a frozen project, and no effect to apply", func(s *controller.Situation) {
			effect(s, controller.EffectApplied)
			s.Frozen = &controller.Suspension{Actor: "ada"}
		}, controller.StandingReady, []string{ready}},
		{"a project that was brought back", func(s *controller.Situation) {
			effect(s, controller.EffectApplied)
			s.Restored = &controller.Restoration{Actor: "ada"}
		}, controller.StandingReady, []string{ready, "restored → person: restore --accept"}},

		// Children.
		{"a child queued", func(s *controller.Situation) { child(s, controller.RunPending) },
			controller.StandingReady, []string{"child_queued → host: view r", ready}},
		{"a child queued, no host", func(s *controller.Situation) {
			child(s, controller.RunPending)
			s.HostRuns = false
		}, controller.StandingReady, []string{"no_host → person: host", "child_queued → host: view r", ready}},
		{"a child running", func(s *controller.Situation) { child(s, controller.RunRunning) },
			controller.StandingReady, []string{"child_running → host: view r", ready}},
		{"a child that was told to end", func(s *controller.Situation) {
			child(s, controller.RunRunning)
			s.Children[0].Code = controller.CodeCancelling
		}, controller.StandingReady, []string{"child_cancelling → host: view r", ready}},
		{"a child waiting", func(s *controller.Situation) { child(s, controller.RunWaiting) },
			controller.StandingReady, []string{"child_waiting → person: answer r", ready}},
		{"a child interrupted", func(s *controller.Situation) { child(s, controller.RunInterrupted) },
			controller.StandingReady, []string{"child_interrupted → host: view r", ready}},
		{"a child that is over", func(s *controller.Situation) { child(s, controller.RunSucceeded) },
			controller.StandingReady, []string{ready}},

		{"a child that begins again later", func(s *controller.Situation) {
			child(s, controller.RunPending)
			s.Children[0].StartsAt = &later
		}, controller.StandingReady, []string{"child_queued at 130 → time: view r", ready}},
		{"a child too many in an hour", func(s *controller.Situation) {
			child(s, controller.RunPending)
			s.Children[0].StartsAt, s.Children[0].Code = &later, controller.CodeChildRateLimited
		}, controller.StandingReady, []string{"child_rate_limited at 130 → time: view r", ready}},
		{"an agent attempt too many in an hour", func(s *controller.Situation) {
			child(s, controller.RunRunning)
			s.Children[0].StartsAt, s.Children[0].Code = &later, controller.CodeAgentRateLimited
		}, controller.StandingReady, []string{"agent_rate_limited at 130 → time: view r", ready}},
		{"an agent attempt that may go on", func(s *controller.Situation) {
			child(s, controller.RunRunning)
			s.Children[0].StartsAt, s.Children[0].Code = &s.Now, controller.CodeAgentRateLimited
		}, controller.StandingReady, []string{"child_running → host: view r", ready}},

		// Deletion.
		{"a deletion", func(s *controller.Situation) { deleting(s) },
			controller.StandingDeleting, []string{"deletion_due → host"}},
		{"a deletion that waits for finalizers", func(s *controller.Situation) { deleting(s, "f") },
			controller.StandingDeleting, []string{"held_by_finalizer → host"}},
		{"a deletion that nobody here can finish", func(s *controller.Situation) {
			deleting(s, "f")
			s.Loaded = false
		}, controller.StandingDeleting, []string{
			"controller_not_loaded → definition: run a host of the program that has it",
			"orphan_finalizer → definition: run a host of the program that has it, " +
				"or in the last resort delete c k --force-finalizer f --reason WHY",
		}},
		{"a deletion of what is suspended", func(s *controller.Situation) {
			deleting(s)
			s.Queue.State, s.Queue.Suspension = controller.QueueSuspended, &controller.Suspension{Actor: "ada"}
		}, controller.StandingDeleting, []string{"suspended → person: unsuspend c k"}},
		{"a deletion that waits for effects and children", func(s *controller.Situation) {
			deleting(s)
			effect(s, controller.EffectIndeterminate)
			child(s, controller.RunRunning)
		}, controller.StandingDeleting, []string{
			doubtful, "child_running → host: view r", "held_by_effect → provider", "held_by_child → host: view r",
		}},
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

// The document has an entry for each code, and no other.
func TestTheReasonsDocumentHasEveryCode(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "docs", "reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []controller.ReasonCode
	for _, entry := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllSubmatch(document, -1) {
		documented = append(documented, controller.ReasonCode(entry[1]))
	}
	if diff := cmp.Diff(controller.ReasonCodes(), documented); diff != "" {
		t.Errorf("docs/reasons.md lists the codes in their order (-code +document):\n%s", diff)
	}
}

// A command that an explanation names can be pasted into a shell.
func TestKeysAreQuotedForTheShell(t *testing.T) {
	t.Parallel()
	s := settled()
	s.Resource.Metadata.Key, s.Resource.Metadata.Generation = "a b", 3
	if got := controller.Explain(s).Reasons[0].Do; got != `reconcile c 'a b'` {
		t.Errorf("do %s", got)
	}
}

// Whatever the situation is, there is a reason, and its code is known.
func TestEverySituationHasAReason(t *testing.T) {
	t.Parallel()
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
		s.Claimant = rapid.SampledFrom([]*controller.Claimant{nil, {}, {Dead: true}}).Draw(t, "claimant")
		s.Places.Limit, s.Places.Abandoned = rapid.IntRange(0, 1).Draw(t, "limit"), rapid.IntRange(0, 1).Draw(t, "abandoned")
		for _, state := range rapid.SliceOfN(rapid.SampledFrom([]controller.EffectState{
			controller.EffectPending, controller.EffectApplied, controller.EffectRejected, controller.EffectIndeterminate,
		}), 0, 2).Draw(t, "effects") {
			s.Effects = append(s.Effects, controller.EffectRecord{Key: "e", State: state})
		}
		for _, state := range rapid.SliceOfN(rapid.SampledFrom([]controller.RunState{
			controller.RunPending, controller.RunRunning, controller.RunWaiting, controller.RunSucceeded, controller.RunFailed, controller.RunInterrupted,
		}), 0, 2).Draw(t, "children") {
			s.Children = append(s.Children, controller.ChildRun{RunID: "r", State: state})
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
