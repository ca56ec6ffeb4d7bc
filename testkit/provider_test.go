package testkit_test

import (
	"testing"

	"piworkflows/controller"
	"piworkflows/testkit"
)

// What a provider answers to the first change, and what comes of it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		answer testkit.Answer
		// first is the state of the effect after the first pass, made how often the
		// door was opened by then, finally the state in the end. Empty is an effect in
		// doubt: the deadline frees the key, maybe before the late answer is recorded.
		first   controller.EffectState
		made    int
		finally controller.EffectState
	}{
		{testkit.Done, controller.EffectApplied, 1, controller.EffectApplied},
		{testkit.Lost, controller.EffectIndeterminate, 1, controller.EffectApplied},
		{testkit.Unreachable, controller.EffectIndeterminate, 0, controller.EffectApplied},
		{testkit.Refused, controller.EffectRejected, 0, controller.EffectRejected},
		{testkit.Unsure, controller.EffectIndeterminate, 0, controller.EffectApplied},
		{testkit.Hangs, "", 0, controller.EffectApplied},
	}
	for _, test := range tests {
		t.Run(string(test.answer), func(t *testing.T) {
			t.Parallel()
			door := testkit.NewProvider("door")
			k := testkit.New(t, testkit.Options{Definition: opener(door), Providers: []*testkit.Provider{door}})
			front := k.Apply("front", nil)
			door.Answers(test.answer)
			k.Pass()
			if test.first != "" {
				front.WantEffects(test.first)
			} else if state := front.Effects()[0].State; state.Final() {
				t.Errorf("the effect is %s", state)
			}
			door.WantMade(t, "open", test.made)
			k.Settle()
			front.WantEffects(test.finally)
			want := 1
			if test.finally == controller.EffectRejected {
				want = 0
			}
			door.WantMade(t, "open", want)
		})
	}
}

// A provider that does not see at once what it made is what makes a careful
// controller act twice.
func TestALateLookIsSeenAsNothing(t *testing.T) {
	t.Parallel()
	door := testkit.NewProvider("door")
	k := testkit.New(t, testkit.Options{Definition: opener(door), Providers: []*testkit.Provider{door}})
	front := k.Apply("front", nil)
	door.Answers(testkit.Lost)
	door.Looks(testkit.Unsure, testkit.Unreachable, testkit.Late)
	k.Settle()
	front.WantEffects(controller.EffectApplied)
	door.WantMade(t, "open", 2)
}

func TestSomebodyElseChangesAProvider(t *testing.T) {
	t.Parallel()
	door := testkit.NewProvider("door")
	look := func() bool {
		there, err := door.Look(t.Context(), "open")
		if err != nil {
			t.Error(err)
		}
		return there
	}
	if look() {
		t.Error("it is there before anybody made it")
	}
	if door.Make("open"); !look() || door.Made("open") != 1 {
		t.Error("what somebody made is not there")
	}
	if door.Remove("open"); look() || door.Made("open") != 1 {
		t.Error("what somebody removed is still there")
	}
}
