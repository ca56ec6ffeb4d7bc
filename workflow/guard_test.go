package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"piworkflows/workflow"
)

// record is a history in memory that counts how many steps are read.
type record struct {
	steps []workflow.Step
	reads int
}

func (r *record) Output(string) (json.RawMessage, bool) { return nil, false }
func (r *record) Result(string) (workflow.Result, bool) { return workflow.Result{}, false }
func (r *record) Steps() int                            { return len(r.steps) }
func (r *record) Updates() []workflow.Published         { return nil }
func (r *record) Step(i int) workflow.Step              { r.reads++; return r.steps[i] }
func (r *record) add(node, output string)               { r.end(node, workflow.OK, output) }
func (r *record) end(node string, o workflow.Outcome, output string) {
	id := fmt.Sprintf("at-%d", len(r.steps)+1)
	r.steps = append(r.steps, workflow.Step{AttemptID: id, NodeID: node, Outcome: o, Output: json.RawMessage(output)})
}

// factsOf takes the facts of a test from the input of the run.
func factsOf(_ context.Context, c *workflow.Context) (workflow.Facts, error) {
	var facts workflow.Facts
	err := json.Unmarshal(c.Input, &facts)
	return facts, err
}

// guarded is a loop that works, waits at most three times, and ends.
func guarded() workflow.LoopGuard {
	return workflow.LoopGuard{
		Loop: workflow.MustControlLoop(workflow.Loop{Decide: "decide", ReturnTo: "observe", Routes: []workflow.Route{
			{Name: "build", To: "build", Returns: []string{"built"}},
			{Name: "verify", To: "verify", Returns: []string{"verified"}},
			{Name: "wait", To: "wait", Returns: []string{"waited"}},
			{Name: "complete", To: "complete", Terminal: true},
			{Name: "blocked", To: "blocked", Terminal: true},
		}}),
		Facts: factsOf,
		Waits: []workflow.Wait{{Route: "wait", Most: 3}},
	}
}

// decided lets the guard judge a route on the facts, and records the decision
// as the loop would if it was admitted.
func (r *record) decided(t *testing.T, g workflow.LoopGuard, route, facts string) error {
	t.Helper()
	r.add("observe", facts)
	s, err := g.Standing(t.Context(), &workflow.Context{Input: json.RawMessage(facts), View: r})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Admit(workflow.DecisionOutput{Route: route, Reason: "r"})
	if d.Fingerprint != s.Fingerprint || d.Route != route {
		t.Errorf("decision %+v", d)
	}
	if err == nil {
		r.add("decide", asJSON(d))
		r.end(route, workflow.Failed, "")
		r.add(route+"d", `{"route":"verify","fingerprint":"`+s.Fingerprint+`"}`)
	}
	return err
}

func TestLoopGuard(t *testing.T) {
	t.Parallel()
	const a, b = `{"head":"a"}`, `{"head":"b"}`
	type turn struct {
		route, facts string
		closed       bool
	}
	tests := map[string][]turn{
		"first turns":                {{"build", a, false}, {"verify", a, false}},
		"again at once":              {{"build", a, false}, {"build", a, true}},
		"in a circle":                {{"build", a, false}, {"verify", a, false}, {"build", a, true}, {"verify", a, true}},
		"a new fact opens":           {{"build", a, false}, {"build", b, false}, {"build", b, true}},
		"facts that were there once": {{"build", a, false}, {"build", b, false}, {"build", a, true}},
		"written in another order": {
			{"build", `{"x":1,"y":{"p":1.0,"q":2}}`, false}, {"build", ` {"y":{"q":2,"p":1},"x":1e0}`, true},
		},
		"a value is not text":   {{"build", `{"took":"5s"}`, false}, {"build", `{"took":"6s"}`, false}},
		"waiting is bounded":    {{"wait", a, false}, {"wait", a, false}, {"wait", a, false}, {"wait", a, true}, {"verify", a, false}},
		"waiting between":       {{"wait", a, false}, {"build", a, false}, {"wait", a, false}, {"wait", a, false}, {"build", a, true}, {"wait", a, true}},
		"waiting for something": {{"wait", a, false}, {"wait", a, false}, {"wait", a, false}, {"wait", b, false}, {"wait", b, false}},
		"an end may come again": {{"blocked", a, false}, {"blocked", a, false}, {"complete", a, false}, {"complete", a, false}},
		"an unknown route":      {{"merge", a, false}, {"merge", a, false}},
	}
	for name, turns := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r record
			for i, turn := range turns {
				err := r.decided(t, guarded(), turn.route, turn.facts)
				var stuck *workflow.NoProgressError
				if closed := errors.As(err, &stuck); closed != turn.closed || (err != nil) != closed {
					t.Errorf("turn %d, route %s: %v", i, turn.route, err)
				}
			}
		})
	}
}

func TestStandingTellsWhatIsOpen(t *testing.T) {
	t.Parallel()
	var r record
	g := guarded()
	const facts = `{"head":"a","check":"failed"}`
	want := func(want workflow.Standing) {
		t.Helper()
		got, err := g.Standing(t.Context(), &workflow.Context{Input: json.RawMessage(facts), View: &r})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "Fingerprint")); diff != "" {
			t.Errorf("standing (-want +got):\n%s", diff)
		}
	}
	names := []string{"check", "head"}
	want(workflow.Standing{Facts: names, Open: []string{"build", "verify", "wait", "complete", "blocked"}})
	for _, route := range []string{"build", "wait", "wait", "verify"} {
		if err := r.decided(t, g, route, facts); err != nil {
			t.Fatal(err)
		}
	}
	closed := []workflow.Repeat{{Route: "build", Times: 1, AttemptID: "at-2"}, {Route: "verify", Times: 1, AttemptID: "at-14"}}
	want(workflow.Standing{Facts: names, Open: []string{"wait", "complete", "blocked"}, Closed: closed})
	if err := r.decided(t, g, "wait", facts); err != nil {
		t.Fatal(err)
	}
	closed = append(closed, workflow.Repeat{Route: "wait", Times: 3, AttemptID: "at-18"})
	want(workflow.Standing{Facts: names, Open: []string{"complete", "blocked"}, Closed: closed, Stuck: true})

	err := r.decided(t, g, "wait", facts)
	const says = `route "wait" would repeat itself: it was chosen 3 times before, and no fact changed since (check, head): ` +
		`choose one of "complete" | "blocked"`
	var stuck *workflow.NoProgressError
	if !errors.As(err, &stuck) || stuck.ErrorCode() != "no_progress" || err.Error() != says {
		t.Errorf("error = %v\nwant    %s", err, says)
	}
	if diff := cmp.Diff(&workflow.NoProgressError{Repeat: closed[2], Facts: names, Open: []string{"complete", "blocked"}}, stuck); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// What the guard says of a stuck loop passes for a blocked decision.
func TestStandingProvesThatALoopIsStuck(t *testing.T) {
	t.Parallel()
	var r record
	g := guarded()
	facts := fmt.Sprintf(`{"head":"a",%q:1}`, strings.Repeat("long", 1000))
	for _, route := range []string{"build", "verify", "wait", "wait", "wait"} {
		if err := r.decided(t, g, route, facts); err != nil {
			t.Fatal(err)
		}
	}
	s, err := g.Standing(t.Context(), &workflow.Context{Input: json.RawMessage(facts), View: &r})
	if err != nil {
		t.Fatal(err)
	}
	blocked := s.Blocked()
	if err := blocked.Check(); err != nil {
		t.Error(err)
	}
	if got := blocked.Alternatives[2]; got != "route wait was chosen 3 times on the same facts, last by attempt at-18" {
		t.Errorf("alternative %q", got)
	}
	if s, err = g.Standing(t.Context(), &workflow.Context{Input: json.RawMessage(`{"head":"b"}`), View: &r}); err != nil {
		t.Fatal(err)
	}
	if err := s.Blocked().Check(); err == nil {
		t.Error("a loop that goes on passes for a stuck one")
	}
}

// A question costs as much late in a run as early, and the price is that a
// repetition beyond the look-back is not seen.
func TestLoopGuardLooksBackSoFar(t *testing.T) {
	t.Parallel()
	var r record
	g := guarded()
	g.LookBack = 5
	for i := range 500 {
		if err := r.decided(t, g, "build", fmt.Sprintf(`{"turn":%d}`, i%6)); err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
	}
	r.reads = 0
	if err := r.decided(t, g, "build", `{"turn":3}`); err == nil {
		t.Error("a repetition within the look-back is not seen")
	}
	if r.reads > 4*g.LookBack+1 {
		t.Errorf("%d steps were read for %d turns", r.reads, g.LookBack)
	}
}

// A default look-back sees a wait through to its bound, even beside another
// route.
func TestLoopGuardCountsLongWaits(t *testing.T) {
	t.Parallel()
	var r record
	g := guarded()
	g.Waits[0].Most = 100
	for i := range 100 {
		if err := r.decided(t, g, "wait", `{"ci":"pending"}`); err != nil {
			t.Fatalf("wait %d: %v", i, err)
		}
		if err := r.decided(t, g, "verify", fmt.Sprintf(`{"poll":%d}`, i)); err != nil {
			t.Fatalf("poll %d: %v", i, err)
		}
	}
	if err := r.decided(t, g, "wait", `{"ci":"pending"}`); err == nil {
		t.Error("the wait has no end")
	}
}

// Only accepted decisions of the node that decides count.
func TestLoopGuardReadsDecisionsOnly(t *testing.T) {
	t.Parallel()
	var r record
	g := guarded()
	if err := r.decided(t, g, "build", `{"head":"a"}`); err != nil {
		t.Fatal(err)
	}
	decision := r.steps[1]
	r.steps = nil
	r.add("assess", string(decision.Output))
	r.end("decide", workflow.Failed, string(decision.Output))
	r.add("decide", `{"route":"build","reason":"made before there was a guard"}`)
	if err := r.decided(t, g, "build", `{"head":"a"}`); err != nil {
		t.Error(err)
	}
}

func TestLoopGuardFails(t *testing.T) {
	t.Parallel()
	ask := func(change func(g *workflow.LoopGuard), input string, r *record) error {
		g := guarded()
		change(&g)
		_, err := g.Standing(t.Context(), &workflow.Context{Input: json.RawMessage(input), View: r})
		return err
	}
	spoilt := &record{}
	spoilt.add("decide", `"build"`)
	none := func(*workflow.LoopGuard) {}
	broken := func(context.Context, *workflow.Context) (workflow.Facts, error) { return nil, errNoProof }
	unwritable := func(context.Context, *workflow.Context) (workflow.Facts, error) { return workflow.Facts{"f": run}, nil }
	inexact := func(context.Context, *workflow.Context) (workflow.Facts, error) {
		return workflow.Facts{"id": 1<<53 + 1}, nil
	}
	tests := map[string]struct {
		err  error
		says string
	}{
		"no facts":          {ask(none, `{}`, &record{}), "without facts"},
		"facts fail":        {ask(func(g *workflow.LoopGuard) { g.Facts = broken }, ``, &record{}), errNoProof.Error()},
		"facts are no JSON": {ask(func(g *workflow.LoopGuard) { g.Facts = unwritable }, ``, &record{}), "write the facts"},
		"an inexact number": {ask(func(g *workflow.LoopGuard) { g.Facts = inexact }, ``, &record{}), "2^53"},
		"a spoilt record":   {ask(none, `{"a":1}`, spoilt), "recorded decision of node decide"},
		"a bad guard":       {ask(func(g *workflow.LoopGuard) { g.Loop = nil }, `{"a":1}`, &record{}), "loopGuard.loop"},
	}
	for name, test := range tests {
		if test.err == nil || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: %v", name, test.err)
		}
	}
}

func TestLoopGuardRejects(t *testing.T) {
	t.Parallel()
	waits := func(waits ...workflow.Wait) func(g *workflow.LoopGuard) {
		return func(g *workflow.LoopGuard) { g.Waits = waits }
	}
	tests := map[string]struct {
		change func(g *workflow.LoopGuard)
		want   []flaw
	}{
		"valid":         {func(*workflow.LoopGuard) {}, nil},
		"no waits":      {waits(), nil},
		"no loop":       {func(g *workflow.LoopGuard) { g.Loop = nil }, []flaw{{"loopGuard.loop", "required"}}},
		"no facts":      {func(g *workflow.LoopGuard) { g.Facts = nil }, []flaw{{"loopGuard.facts", "required"}}},
		"unknown route": {waits(workflow.Wait{Route: "weit", Most: 1}), []flaw{{"loopGuard.waits[0]", `"weit" is no route`}}},
		"terminal":      {waits(workflow.Wait{Route: "blocked", Most: 1}), []flaw{{"loopGuard.waits[0]", "ends the loop"}}},
		"twice":         {waits(workflow.Wait{Route: "wait", Most: 1}, workflow.Wait{Route: "wait", Most: 2}), []flaw{{"loopGuard.waits[1]", "twice"}}},
		"no bound":      {waits(workflow.Wait{Route: "wait"}), []flaw{{"loopGuard.waits[0]", "a bound of 0"}}},
		"unreachable bound": {
			func(g *workflow.LoopGuard) { g.LookBack = 2 },
			[]flaw{{"loopGuard.waits[0]", "a bound of 3 is not between 1 and the look-back of 2"}},
		},
		"negative look-back": {
			func(g *workflow.LoopGuard) { g.LookBack, g.Waits = -1, nil },
			[]flaw{{"loopGuard.lookBack", "-1"}},
		},
		"long look-back": {func(g *workflow.LoopGuard) { g.LookBack = 10_001 }, []flaw{{"loopGuard.lookBack", "10000"}}},
		"long wait":      {waits(workflow.Wait{Route: "wait", Most: 5001}), []flaw{{"loopGuard.lookBack", "10002"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guarded()
			test.change(&g)
			err := g.Check()
			if err == nil {
				wantFlaws(t, nil, test.want)
				return
			}
			wantFlaws(t, invalid(t, err).Problems, test.want)
		})
	}
}

// The guard of a decision answers within the attempt, together with all else
// that is wrong, and puts the facts where the next question finds them.
func TestGuardOfADecision(t *testing.T) {
	t.Parallel()
	var r record
	g := guarded()
	d := triage()
	d.Routes, d.Guard, d.Check = g.Loop.Choices(), &g, nil
	n := d.Node()
	c := &workflow.Context{Input: json.RawMessage(`{"head":"a"}`), View: &r}
	submitted := ` { "route":"build", "reason":"r", "own":{"}":1} } `
	accepted, err := n.Validate(t.Context(), c, json.RawMessage(submitted))
	if err != nil {
		t.Fatal(err)
	}
	fingerprint, err := workflow.Facts{"head": "a"}.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	if want := ` { "route":"build", "reason":"r", "own":{"}":1} ,"fingerprint":"` + fingerprint + `"} `; string(accepted) != want {
		t.Errorf("accepted %s\nwant     %s", accepted, want)
	}
	r.add("decide", string(accepted))

	_, err = n.Validate(t.Context(), c, json.RawMessage(`{"route":"build","fingerprint":"x"}`))
	wantRejected(t, err, []flaw{{"fingerprint", "leave it out"}, {"reason", ""}, {"route", `"build" would repeat itself`}})
	var stuck *workflow.NoProgressError
	if !errors.As(err, &stuck) || stuck.AttemptID != "at-1" {
		t.Errorf("error = %v, want the repetition in it", err)
	}
	prompt, err := n.Prompt(t.Context(), c)
	if err != nil || !strings.Contains(prompt, `Closed for now, because they were tried and nothing changed since: "build".`) {
		t.Errorf("prompt:\n%s\n%v", prompt, err)
	}
	if _, err := n.Validate(t.Context(), c, json.RawMessage(`{"route":"verify","reason":"r"}`)); err != nil {
		t.Error(err)
	}
}

// An agent cannot mend the facts, so they fail before it is asked.
func TestGuardThatFailsAsksNobody(t *testing.T) {
	t.Parallel()
	g := guarded()
	d := triage()
	d.Guard = &g
	c := &workflow.Context{Input: json.RawMessage(`{}`), View: &record{}}
	if _, err := d.Node().Prompt(t.Context(), c); err == nil || !strings.Contains(err.Error(), "without facts") {
		t.Errorf("error = %v", err)
	}
	if _, err := d.Node().Validate(t.Context(), c, json.RawMessage(`{"route":"verify","reason":"r"}`)); err == nil {
		t.Error("accepted a decision that nobody can compare")
	}
}
