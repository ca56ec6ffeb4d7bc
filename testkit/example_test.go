package testkit_test

import (
	"fmt"

	"piworkflows/controller"
	"piworkflows/testkit"
)

// A provider does what it was asked, and its answer is lost: the trace shows that
// the next pass looks before it would try again.
func Example() {
	t := &script{} // in a test, this is *testing.T
	defer t.end()
	door := testkit.NewProvider("door")
	k := testkit.New(t, testkit.Options{
		Definition: opener(door), Providers: []*testkit.Provider{door},
	})
	front := k.Apply("front", nil)
	door.Answers(testkit.Lost)
	k.Settle()
	front.WantEffects(controller.EffectApplied)
	door.WantMade(t, "open", 1)
	for _, line := range k.Trace() {
		fmt.Println(line)
	}
	// Output:
	// claim front
	// reserve effect open: it is new
	// door: change open: done, and the answer is lost
	// finish effect open: it is indeterminate
	// finish front: it failed (effect "open" is indeterminate and will be observed: the provider did not answer), it runs again after 1s (effect_unsettled)
	// claim front
	// reserve effect open: it is open
	// door: look open: it is there
	// finish effect open: it is applied
	// finish front: it is settled
}

// A process dies after the provider was asked, before it could note the answer.
func ExampleKit_Crash() {
	t := &script{}
	defer t.end()
	door := testkit.NewProvider("door")
	k := testkit.New(t, testkit.Options{Definition: opener(door), Providers: []*testkit.Provider{door}})
	k.Apply("front", nil)
	k.Crash(&testkit.Crash{Step: testkit.StepFinishEffect})
	k.Settle()
	for _, line := range k.Trace() {
		fmt.Println(line)
	}
	// Output:
	// claim front
	// reserve effect open: it is new
	// door: change open: done
	// the process dies before: finish effect
	// claim front
	// reserve effect open: it is open
	// door: look open: it is there
	// finish effect open: it is applied
	// finish front: it is settled
}

// Whatever the provider answers, what a person would be told.
func ExampleResource_Explain() {
	t := &script{}
	defer t.end()
	door := testkit.NewProvider("door")
	k := testkit.New(t, testkit.Options{Definition: opener(door)})
	front := k.Apply("front", nil)
	door.Answers(testkit.Refused)
	k.Settle()
	for _, reason := range front.Explain().Reasons {
		fmt.Printf("%s: %s (%s)\n", reason.Code, reason.Message, reason.Next)
	}
	// Output:
	// effect_rejected: effect open was rejected: the provider refused (person)
	// not_ready: Shut: the provider refused (person)
}
