package testkit

import (
	"fmt"
	"slices"
)

// Step is a durable step of a pass, between which a process may die.
type Step string

// The steps, in the order in which a pass takes them.
const (
	// StepClaim is the claim of a key. Before it there is nothing to interrupt, so
	// only a Crash with After meets it.
	StepClaim         Step = "claim"
	StepReserveEffect Step = "reserve effect"
	// StepCheckApply is taken only if the reservation took long or the project is
	// frozen.
	StepCheckApply     Step = "check apply"
	StepFinishEffect   Step = "finish effect"
	StepCancelChildren Step = "cancel children"
	StepReserveChild   Step = "reserve child"
	StepFinish         Step = "finish"
)

// Crash is one death of the process that runs the passes. The next pass runs in
// another process: it has what was stored, and nothing else, and the key counts
// one more error.
type Crash struct {
	// Step is where the process dies; empty is any step.
	Step Step
	// N counts such steps: 1 and 0 are the next one.
	N int
	// After lets the step be done, and its answer be lost; else it is not done.
	After bool

	met      int
	happened bool
}

// Crash lets the process die as c says, from now on: its steps are counted from
// here. For an effect that was made and whose receipt is lost, that is
// &Crash{Step: StepFinishEffect}.
func (k *Kit) Crash(c *Crash) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.crash = c
}

// meets returns the crash of this step, if there is one.
func (k *Kit) meets(s Step) *Crash {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.crash
	if c == nil || c.Step != "" && c.Step != s || s == StepClaim && !c.After {
		return nil
	}
	if c.met++; c.met < c.N {
		return nil
	}
	k.crash, c.happened = nil, true
	return c
}

// EveryCrash plays a story once for each step at which a process may die in it:
// before the step, and after it with its answer lost. The story makes a kit with
// the T that it is given, hands the crash to Kit.Crash, and says how it must end:
// whatever the step was, the same. What fails names the step.
func EveryCrash(t T, story func(t T, c *Crash)) {
	t.Helper()
	for _, after := range []bool{false, true} {
		c := &Crash{happened: true}
		for n := 1; c.happened; n++ {
			c = &Crash{N: n, After: after}
			play(t, c, story)
		}
	}
}

// play plays a story with one crash.
func play(t T, c *Crash, story func(t T, c *Crash)) {
	t.Helper()
	own := &episode{T: t, crash: c}
	defer own.end()
	story(own, c)
}

// episode is the T of one play: it says where the process died, and ends before
// the test does.
type episode struct {
	T
	crash    *Crash
	cleanups []func()
}

// Errorf implements T.
func (e *episode) Errorf(format string, args ...any) {
	e.Helper()
	e.T.Errorf("%s: %s", e.crash, fmt.Sprintf(format, args...))
}

// Fatalf implements T.
func (e *episode) Fatalf(format string, args ...any) {
	e.Helper()
	e.T.Fatalf("%s: %s", e.crash, fmt.Sprintf(format, args...))
}

// Cleanup implements T.
func (e *episode) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

func (e *episode) end() {
	for _, f := range slices.Backward(e.cleanups) {
		f()
	}
}

// String says where the process dies.
func (c *Crash) String() string {
	if !c.happened {
		return "without a crash"
	}
	when := "before"
	if c.After {
		when = "after"
	}
	return fmt.Sprintf("dead %s step %d", when, max(c.N, 1))
}
