package testkit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"piworkflows/controller"
	"piworkflows/testkit"
)

// The next process has what was stored, and the key counts the death as an error.
func TestADeadProcessLeavesWhatItStored(t *testing.T) {
	t.Parallel()
	door := testkit.NewProvider("door")
	k := testkit.New(t, testkit.Options{Definition: opener(door), Providers: []*testkit.Provider{door}})
	front := k.Apply("front", nil)
	k.Crash(&testkit.Crash{Step: testkit.StepReserveEffect, After: true})
	if !k.Pass() {
		t.Fatal("there was no pass")
	}
	front.WantEffects(controller.EffectPending)
	front.WantFailing(1, "its process died")
	door.WantMade(t, "open", 0)
	k.Settle()
	front.WantEffects(controller.EffectApplied)
	door.WantMade(t, "open", 1)
	if n := slices.Index(k.Trace(), "the process dies after: reserve effect"); n < 0 {
		t.Error("the trace says nothing of the death")
	}
}

func TestADeadProcessAsksNobody(t *testing.T) {
	t.Parallel()
	door := testkit.NewProvider("door")
	k := testkit.New(t, testkit.Options{Definition: define(func(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		_, err := p.Effects.Ensure(ctx, door.Effect("open"))
		if err != nil { // as if nothing had happened
			err = door.Change(context.WithoutCancel(ctx), "open")
		}
		return controller.Settled(nothing), err
	}), Providers: []*testkit.Provider{door}})
	k.Apply("front", nil)
	k.Crash(&testkit.Crash{Step: testkit.StepReserveEffect})
	k.Pass()
	door.WantMade(t, "open", 0)
	k.Settle()
	door.WantMade(t, "open", 1)
}

func TestTheNthStepIsCounted(t *testing.T) {
	t.Parallel()
	door := testkit.NewProvider("door")
	k := testkit.New(t, testkit.Options{Definition: opener(door)})
	k.Crash(&testkit.Crash{Step: testkit.StepClaim, N: 2, After: true})
	k.Apply("front", nil)
	k.Apply("back", nil)
	k.Pass()
	if lines := k.Trace(); slices.Contains(lines, "the process dies after: claim") {
		t.Errorf("dead at the first claim: %q", lines)
	}
	k.Pass()
	if lines := k.Trace(); !slices.Contains(lines, "the process dies after: claim") {
		t.Errorf("alive at the second claim: %q", lines)
	}
}

// A controller that changes the outside beside its effects is found out, with the
// step at which it fails.
func TestEveryCrashFindsWhatIsDoneTwice(t *testing.T) {
	t.Parallel()
	told := record(func(t testkit.T) {
		testkit.EveryCrash(t, func(t testkit.T, c *testkit.Crash) {
			door := testkit.NewProvider("door")
			careless := define(func(ctx context.Context, _ *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
				return controller.Settled(nothing), door.Change(ctx, "open")
			})
			k := testkit.New(t, testkit.Options{Definition: careless, Providers: []*testkit.Provider{door}})
			k.Crash(c)
			k.Apply("front", nil)
			k.Settle()
			door.WantMade(t, "open", 1)
		})
	})
	if len(told) != 1 || !strings.Contains(told[0], "dead before step 1: door made open 2 times") {
		t.Errorf("told %q", told)
	}
}
