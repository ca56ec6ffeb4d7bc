package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// DecisionError rejects an answer to a decision. It lists everything that the
// agent can correct; the attempt goes on.
type DecisionError struct {
	// Problems name the field of the answer as their place; there is at least
	// one.
	Problems []Problem

	rule error
}

// Error names all problems, one on each line after the first.
func (e *DecisionError) Error() string {
	return "the decision is not accepted: correct " + listed(e.Problems)
}

// ErrorCode is the stable code of a rejected decision.
func (*DecisionError) ErrorCode() string { return "decision_rejected" }

// Unwrap returns the error of Decision.Check, if it had one.
func (e *DecisionError) Unwrap() error { return e.rule }

// judge checks one answer.
func (d Decision) judge(raw json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return &DecisionError{Problems: []Problem{{"output", "is no JSON object: answer with " + d.expected()}}}
	}
	var a answer
	a.read(fields)
	a.bounds()
	rule := d.rules(&a)
	if len(a.list) == 0 {
		return nil
	}
	return &DecisionError{Problems: a.list, rule: rule}
}

// answer is a decision under judgement.
type answer struct {
	problems
	DecisionOutput
}

func (a *answer) read(fields map[string]json.RawMessage) {
	a.spelling(fields)
	a.field(fields, routeField, "a string", &a.Route)
	a.field(fields, "reason", "a string", &a.Reason)
	a.field(fields, "evidence", "a list of strings", &a.Evidence)
	a.field(fields, "nextAction", "a string", &a.NextAction)
}

// spelling reports fields whose names differ from ours in case only. The edge
// would not see them, but a reader that decodes the output into a struct would.
func (a *answer) spelling(fields map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, known := range []string{routeField, "reason", "evidence", "nextAction"} {
			if name != known && strings.EqualFold(name, known) {
				a.addf(name, "must be written %q", known)
			}
		}
	}
}

// field decodes one field; absent and null are the same.
func (a *answer) field(fields map[string]json.RawMessage, name, form string, into any) {
	raw, present := fields[name]
	if present && json.Unmarshal(raw, into) != nil {
		a.addf(name, "must be %s", form)
	}
}

func (a *answer) bounds() {
	if strings.TrimSpace(a.Reason) == "" {
		a.addf("reason", "say why, in one or two sentences")
	}
	a.length("reason", a.Reason, MaxReason)
	a.length("nextAction", a.NextAction, MaxNextAction)
	if len(a.Evidence) > MaxEvidence {
		a.addf("evidence", "%d items are over the limit of %d: keep the strongest", len(a.Evidence), MaxEvidence)
	}
	for i, item := range a.Evidence {
		a.length(fmt.Sprintf("evidence[%d]", i), item, MaxEvidenceItem)
	}
}

func (a *answer) length(place, s string, limit int) {
	if n := utf8.RuneCountInString(s); n > limit {
		a.addf(place, "%d characters are over the limit of %d: shorten it", n, limit)
	}
}

// rules checks the route, and asks the author's rules if it is a declared one.
func (d Decision) rules(a *answer) error {
	if !slices.Contains(d.Routes, a.Route) {
		a.addf(routeField, "%s is not a route here: choose one of %s", quote(shorten(a.Route)), d.alternatives())
		return nil
	}
	if d.Check == nil {
		return nil
	}
	rule := d.Check(a.Route, a.DecisionOutput)
	if rule != nil {
		a.addf(routeField, "%q is not open now: %v", a.Route, rule)
	}
	return rule
}

// quote writes s as JSON text for a model to copy.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return "" // not reached: every string has a JSON text
	}
	return string(text)
}
