package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"piworkflows/internal/canonical"
)

// DecisionError rejects a decision. It lists everything that can be corrected;
// an agent does so within the same attempt.
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

// Unwrap returns the errors of Decision.Check and of the guard, if they had one.
func (e *DecisionError) Unwrap() error { return e.rule }

// validate accepts a submission as it is, fields of the author's own included,
// and adds the fingerprint of a guard.
func (d Decision) validate(ctx context.Context, c *Context, output json.RawMessage) (json.RawMessage, error) {
	standing, err := d.standing(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := d.judge(ctx, c, output, standing); err != nil {
		return nil, err
	}
	return stamped(output, standing.Fingerprint)
}

// stamped adds the fingerprint to the text of an object that has members.
func stamped(object json.RawMessage, fingerprint string) (json.RawMessage, error) {
	if fingerprint == "" {
		return object, nil
	}
	value, err := canonical.Marshal(fingerprint)
	end := bytes.LastIndexByte(object, '}')
	return slices.Concat(object[:end], []byte(`,"`+fingerprintField+`":`), value, object[end:]), err
}

// judge checks one answer.
func (d Decision) judge(ctx context.Context, c *Context, raw json.RawMessage, s Standing) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return &DecisionError{Problems: []Problem{{"output", "is no JSON object: answer with " + d.expected()}}}
	}
	var a answer
	a.read(fields)
	a.bounds()
	if !a.route(d.Routes, d.Blocked) {
		return a.err(nil)
	}
	return a.err(errors.Join(a.closed(s), a.rules(ctx, c, d)))
}

// answerFields are the fields of DecisionOutput that an agent fills in.
var answerFields = []struct {
	name, form string
	of         func(*DecisionOutput) any
}{
	{routeField, "a string", func(d *DecisionOutput) any { return &d.Route }},
	{"reason", "a string", func(d *DecisionOutput) any { return &d.Reason }},
	{"evidence", "a list of strings", func(d *DecisionOutput) any { return &d.Evidence }},
	{"nextAction", "a string", func(d *DecisionOutput) any { return &d.NextAction }},
	{"blocker", "a string", func(d *DecisionOutput) any { return &d.Blocker }},
	{"alternatives", "a list of strings", func(d *DecisionOutput) any { return &d.Alternatives }},
}

// read decodes the fields; absent and null are the same.
func (a *answer) read(fields map[string]json.RawMessage) {
	a.spelling(fields)
	for _, f := range answerFields {
		raw, present := fields[f.name]
		if present && json.Unmarshal(raw, f.of(&a.DecisionOutput)) != nil {
			a.addf(f.name, "must be %s", f.form)
		}
	}
}

// spelling reports fields whose names differ from ours in case only: the edge
// would not see them, but a reader that decodes the output into a struct would.
// The fingerprint is ours in every spelling.
func (a *answer) spelling(fields map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if strings.EqualFold(name, fingerprintField) {
			a.addf(name, "is filled in by the workflow: leave it out")
		}
		for _, known := range answerFields {
			if name != known.name && strings.EqualFold(name, known.name) {
				a.addf(name, "must be written %q", known.name)
			}
		}
	}
}

// closed reports a route that would only repeat itself.
func (a *answer) closed(s Standing) error {
	_, err := s.Admit(a.DecisionOutput)
	if again := (*NoProgressError)(nil); errors.As(err, &again) {
		a.addf(routeField, "%s", again.says())
	}
	return err
}

// rules asks the rules of the author.
func (a *answer) rules(ctx context.Context, c *Context, d Decision) error {
	if d.Check == nil {
		return nil
	}
	rule := d.Check(ctx, c, a.Route, a.DecisionOutput)
	a.broken(rule)
	return rule
}

// broken reports the error of a rule, each of several that were joined by itself.
func (a *answer) broken(rule error) {
	switch e := rule.(type) { //nolint:errorlint // what is wrapped with a text of its own is told by that text
	case nil:
	case *DecisionError:
		a.list = append(a.list, e.Problems...)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			a.broken(one)
		}
	default:
		a.addf(routeField, "%q is not open now: %v", a.Route, rule)
	}
}

// quote writes s as JSON text for a model to copy.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return "" // not reached: every string has a JSON text
	}
	return string(text)
}
