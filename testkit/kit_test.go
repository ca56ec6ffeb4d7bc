package testkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/testkit"
)

var nothing controller.Patch[json.RawMessage]

func TestTimePassesOnlyWhenItIsMoved(t *testing.T) {
	t.Parallel()
	k := testkit.New(t, testkit.Options{Definition: define(answering(controller.RequeueAfter(30*time.Second, nothing), nil))})
	r := k.Apply("k", nil)
	if n := k.Passes(); n != 1 {
		t.Errorf("%d passes, want 1", n)
	}
	r.WantDelayed(30 * time.Second)
	if n := k.Advance(29 * time.Second); n != 0 {
		t.Errorf("%d passes before their time", n)
	}
	r.WantDelayed(time.Second)
	r.WantNext(controller.ReasonPassDelayed)
	if n := k.Advance(time.Second); n != 1 {
		t.Errorf("%d passes when their time had come", n)
	}
	r.Wake()
	r.WantDue()
}

func TestErrorsAreSeenInTheQueue(t *testing.T) {
	t.Parallel()
	why := errors.New("no route to host")
	fails := true
	k := testkit.New(t, testkit.Options{Definition: define(func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
		if fails {
			return controller.RawResult{}, why
		}
		return controller.Settled(nothing), nil
	})})
	r := k.Apply("k", nil)
	k.Pass()
	k.Advance(time.Second)
	r.WantFailing(2, "no route")
	fails = false
	k.Settle()
	r.WantSettled()
	fails, why = true, controller.Terminal(why)
	r.Wake()
	k.Settle()
	r.WantStalled("no route")
	r.WantNext(controller.ReasonStalled)
}

func TestAResourceIsCleanedUpBeforeItIsGone(t *testing.T) {
	t.Parallel()
	k := testkit.New(t, testkit.Options{Definition: define(func(_ context.Context, _ *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		p := nothing
		if p.Finalizers = []string{"files"}; r.Metadata.Deleting() {
			p.Finalizers = []string{}
		}
		return controller.Settled(p), nil
	})})
	r := k.Apply("k", nil)
	k.Settle()
	r.Delete()
	r.WantNext(controller.ReasonPassDue)
	k.Settle()
	r.WantGone()
}

func TestASpecMayBeRefused(t *testing.T) {
	t.Parallel()
	d := define(answering(controller.Settled(nothing), nil))
	d.ValidateSpec = func(json.RawMessage) error {
		return &controller.SpecError{Controller: "c", Problems: []controller.SpecProblem{{Message: "no"}}}
	}
	k := testkit.New(t, testkit.Options{Definition: d})
	r := k.Resource("k")
	if err := r.TryApply(1); err == nil || !r.Gone() {
		t.Errorf("applied: %v", err)
	}
}

// A loop is an error of the controller, not a test that never ends.
func TestEndlessWorkEndsTheTest(t *testing.T) {
	t.Parallel()
	told := record(func(t testkit.T) {
		k := testkit.New(t, testkit.Options{Definition: define(answering(controller.Requeue(nothing), nil))})
		k.Apply("k", nil)
		k.Settle()
	})
	if len(told) != 1 || !strings.Contains(told[0], "always look again") {
		t.Errorf("told %q", told)
	}
}

// Every assertion can fail, and says what is so instead.
func TestAssertionsFail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want func(k *testkit.Kit, r *testkit.Resource, door *testkit.Provider)
		says string
	}{
		"condition": {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantConditions("Ready=true Open") },
			"Ready=false Shut, want Ready=true Open: the provider refused"},
		"condition that is not set": {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantConditions("Safe=true Yes") },
			"Safe is not set"},
		"condition of an older spec": {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) {
			r.Apply(2)
			r.WantConditions("Ready=false Shut")
		}, "of generation 1, and the spec of 2"},
		"effects":  {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantEffects() }, "open is rejected: the provider refused"},
		"next":     {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantNext(controller.ReasonIsReady) }, "effect_rejected, "},
		"gone":     {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantGone() }, "still there: effect_rejected"},
		"due":      {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantDue() }, "is settled, want it to be due"},
		"delayed":  {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantDelayed(1) }, "want it to be due after 1ns"},
		"failing":  {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantFailing(1, "x") }, `failing for the 1. time with "x"`},
		"stalled":  {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.WantStalled("x") }, `stalled with "x"`},
		"settled":  {func(_ *testkit.Kit, r *testkit.Resource, _ *testkit.Provider) { r.Wake(); r.WantSettled() }, "is ready, want it to be settled"},
		"made":     {func(k *testkit.Kit, _ *testkit.Resource, door *testkit.Provider) { door.WantMade(k.T(), "open", 1) }, "made open 0 times, want 1"},
		"child":    {func(k *testkit.Kit, _ *testkit.Resource, _ *testkit.Provider) { k.WantChild() }, "no child run"},
		"resource": {func(k *testkit.Kit, _ *testkit.Resource, _ *testkit.Provider) { k.Resource("x").Get() }, "read c/x: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := record(func(t testkit.T) {
				door := testkit.NewProvider("door")
				k := testkit.New(t, testkit.Options{Definition: opener(door)})
				r := k.Apply("front", nil)
				door.Answers(testkit.Refused)
				k.Settle()
				test.want(k, r, door)
			})
			if len(told) != 1 || !strings.Contains(told[0], test.says) {
				t.Errorf("told %q, want %q", told, test.says)
			}
		})
	}
}
