package workflow

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a decision. They keep it readable for a person and cheap to
// carry through every later prompt.
const (
	// MaxDecisionText bounds each text of a decision, in characters.
	MaxDecisionText = 2000
	// MaxEvidence bounds the items of evidence, and those of the alternatives.
	MaxEvidence = 32
)

// DecisionOutput is the answer of a decision, and the form in which a compute
// node that decides should answer too.
//
// Spec: control loops, Decision results.
type DecisionOutput struct {
	// Route is one of the declared routes.
	Route string `json:"route"`
	// Reason says why; required. This and every other text has at most
	// MaxDecisionText characters.
	Reason string `json:"reason"`
	// Evidence are the facts that it rests on; at most MaxEvidence items.
	Evidence []string `json:"evidence,omitempty"`
	// NextAction is what the branch should do.
	NextAction string `json:"nextAction,omitempty"`
	// Blocker and Alternatives belong to the blocked route, see Blocked.
	Blocker      string   `json:"blocker,omitempty"`
	Alternatives []string `json:"alternatives,omitempty"`
	// Fingerprint identifies the facts of the moment, see LoopGuard. It is set by
	// the guard and never taken from an agent.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Blocked returns what the decision shows for the blocked route.
func (d DecisionOutput) Blocked() Blocked {
	return Blocked{Blocker: d.Blocker, Evidence: d.Evidence, Alternatives: d.Alternatives}
}

// Check holds a decision against the routes there are and the bounds, and if its
// route is the one named by blocked ("" for none) against the rules of Blocked.
// Everything that is wrong is in one *DecisionError. A Decision does this by
// itself; a function that decides calls it on what it is about to return.
func (d DecisionOutput) Check(routes []string, blocked string) error {
	a := answer{DecisionOutput: d}
	a.bounds()
	a.route(routes, blocked)
	return a.err(nil)
}

// answer is a decision under judgement.
type answer struct {
	problems
	DecisionOutput
}

// err returns the problems as a *DecisionError that carries rule, or nil.
func (a *answer) err(rule error) error {
	if len(a.list) == 0 {
		return nil
	}
	return &DecisionError{Problems: a.list, rule: rule}
}

func (a *answer) bounds() {
	if blank(a.Reason) {
		a.addf("reason", "say why, in one or two sentences")
	}
	a.length("reason", a.Reason)
	a.length("nextAction", a.NextAction)
	a.length("blocker", a.Blocker)
	a.bounded("evidence", a.Evidence)
	a.bounded("alternatives", a.Alternatives)
}

func (a *answer) bounded(place string, items []string) {
	if len(items) > MaxEvidence {
		a.addf(place, "%d items are over the limit of %d: keep the strongest", len(items), MaxEvidence)
	}
	for i, item := range items {
		a.length(fmt.Sprintf("%s[%d]", place, i), item)
	}
}

func (a *answer) length(place, s string) {
	if n := utf8.RuneCountInString(s); n > MaxDecisionText {
		a.addf(place, "%d characters are over the limit of %d: shorten it", n, MaxDecisionText)
	}
}

// route checks the route and reports whether it is a declared one.
func (a *answer) route(routes []string, blocked string) bool {
	if !slices.Contains(routes, a.Route) {
		a.addf(routeField, "%s is not a route here: choose one of %s", quote(shorten(a.Route)), alternatives(routes))
		return false
	}
	if a.Route == blocked {
		a.blocked(a.Blocked())
	}
	return true
}

// alternatives writes routes as JSON texts.
func alternatives(routes []string) string {
	quoted := make([]string, len(routes))
	for i, route := range routes {
		quoted[i] = quote(route)
	}
	return strings.Join(quoted, " | ")
}
