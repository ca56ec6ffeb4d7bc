package workflow

import (
	"fmt"
	"slices"
	"strings"

	"piworkflows/internal/limit"
)

// Standing is where a control loop stands: its facts, and what they leave open.
type Standing struct {
	// Fingerprint identifies the facts, Facts are their names in order.
	Fingerprint string
	Facts       []string
	// Open are the routes that end the loop or may bring something new, in the
	// order of the loop. Rules of the workflow itself may close more.
	Open []string
	// Closed are the routes that would only repeat themselves.
	Closed []Repeat
	// Stuck says that the only routes left open end the loop.
	Stuck bool
}

// Repeat is a route that was chosen before on the same facts.
type Repeat struct {
	Route string
	// Times is how often, within the look-back of the guard.
	Times int
	// AttemptID is the latest decision that chose it.
	AttemptID string
}

// and counts one more decision; the first one that is counted is the latest.
func (r Repeat) and(route, attempt string) Repeat {
	if r.Times == 0 {
		r.Route, r.AttemptID = route, attempt
	}
	r.Times++
	return r
}

// Admit returns the decision with the fingerprint of the facts, which has to be
// in the output of the node that decides. A route that is closed gives a
// *NoProgressError beside it: choose one of its open routes, or the blocked one
// with what Blocked says.
func (s Standing) Admit(d DecisionOutput) (DecisionOutput, error) {
	d.Fingerprint = s.Fingerprint
	i := slices.IndexFunc(s.Closed, func(r Repeat) bool { return r.Route == d.Route })
	if i < 0 {
		return d, nil
	}
	return d, &NoProgressError{Repeat: s.Closed[i], Facts: s.Facts, Open: s.Open}
}

// Blocked returns the proof that the loop is stuck, for the route that says so.
// It speaks of progress only: whoever had another reason to pass over an open
// route adds it to the alternatives.
func (s Standing) Blocked() Blocked {
	b := Blocked{Blocker: "every route that is left would only repeat itself: no fact changed since it was chosen"}
	b.Evidence = []string{"the facts that did not change are " + factNames(s.Facts)}
	for _, r := range s.Closed[:min(len(s.Closed), MaxEvidence)] {
		b.Alternatives = append(b.Alternatives,
			fmt.Sprintf("route %s was chosen %s on the same facts, last by attempt %s", r.Route, times(r.Times), r.AttemptID))
	}
	return b
}

func factNames(facts []string) string {
	return limit.Text(strings.Join(facts, ", "), MaxDecisionText/2)
}

// closed says for an agent what it need not try.
func (s Standing) closed() string {
	routes := make([]string, len(s.Closed))
	for i, r := range s.Closed {
		routes[i] = r.Route
	}
	return alternatives(routes)
}

// NoProgressError says that a route would only repeat itself.
type NoProgressError struct {
	Repeat
	// Facts are the names of the facts that did not change.
	Facts []string
	// Open are the routes that may be chosen instead.
	Open []string
}

// Error names the route, the facts and the open routes.
func (e *NoProgressError) Error() string { return "route " + e.says() }

func (e *NoProgressError) says() string {
	return fmt.Sprintf("%q would repeat itself: it was chosen %s before, and no fact changed since (%s): choose one of %s",
		e.Route, times(e.Times), factNames(e.Facts), alternatives(e.Open))
}

// ErrorCode is the stable code of a loop that makes no progress.
func (*NoProgressError) ErrorCode() string { return "no_progress" }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
