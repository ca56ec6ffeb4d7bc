package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// The fields of a decision that we read or write by name, and the path to the
// route.
const (
	routeField       = "route"
	routePath        = "$." + routeField
	fingerprintField = "fingerprint"
)

// Decision is an agent node that chooses one of a closed set of routes and says
// why. Its answer is structured and bounded, and checked by the program before
// an edge is taken.
//
// Spec: control loops, Decision results.
type Decision struct {
	// ID is required.
	ID string
	// Limits is the deadline of an attempt by the wall clock, time in which it is
	// held included. Unlike other nodes a decision has none if it is zero: Limit
	// ends it.
	Limits
	// Limit bounds the active time and the submissions; zero fields take their
	// defaults.
	Limit DecisionLimit
	// StatusDetail is shown while an attempt runs; it may be empty.
	StatusDetail string
	// Question is the author's part of the prompt; required. The routes and the
	// form of the answer are added to it.
	Question func(ctx context.Context, c *Context) (string, error)
	// Routes are the names that the agent may choose, at least one; those of a
	// control loop are its Choices.
	Routes []string
	// Blocked optionally names the route that ends the loop as blocked; an answer
	// that chooses it must show what Blocked demands.
	Blocked string
	// Check optionally holds rules of single routes against the record, for
	// example that complete needs a check that passed. It is asked for declared
	// routes only, also if something else is wrong with the answer, so that the
	// agent learns everything at once; join several errors for the same reason.
	// They go back to the agent within the same attempt.
	Check func(ctx context.Context, c *Context, route string, output DecisionOutput) error
	// Guard optionally refuses a route that would only repeat itself. The output
	// then carries the fingerprint of the facts.
	Guard *LoopGuard
}

// Node returns the agent node. What is wrong with the decision is reported when
// the definition is checked, together with everything else.
func (d Decision) Node() Agent {
	var p problems
	d.check(&p)
	d.Routes = slices.Clone(d.Routes)
	if d.Timeout == 0 && d.TimeoutFunc == nil {
		d.Timeout = NoTimeout
	}
	limit := d.Limit.or(d.ID)
	n := Agent{
		ID:             d.ID,
		Limits:         d.Limits,
		StatusDetail:   d.StatusDetail,
		ExpectedOutput: d.expected(),
		Validate:       d.validate,
		limit:          &limit,
		flaws:          p.list,
	}
	if d.Question != nil {
		n.Prompt = d.prompt
	}
	return n
}

func (d Decision) check(p *problems) {
	p.choices("routes", d.Routes)
	if d.Blocked != "" && !slices.Contains(d.Routes, d.Blocked) {
		p.addf("blocked", "%q is none of the routes: declare it or correct the name", d.Blocked)
	}
	if d.Guard != nil {
		d.Guard.check(p, "guard")
	}
	d.Limit.check(p, "limit")
}

// choices checks a closed set of answers.
func (p *problems) choices(place string, names []string) {
	p.require(len(names) > 0, place, "at least one route")
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", place, i)
		p.require(name != "", at, "the name of a route")
		p.text(at, name)
		if seen[name] {
			p.addf(at, "%q is declared twice: keep one of them", name)
		}
		seen[name] = true
	}
}

func (d Decision) prompt(ctx context.Context, c *Context) (string, error) {
	question, err := d.Question(ctx, c)
	if err != nil {
		return "", err
	}
	standing, err := d.standing(ctx, c)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nDecide on one route, written exactly as here: %s.\n"+
		"Give a short reason that rests on what you can show.", strings.TrimRight(question, " \t\r\n"), alternatives(d.Routes))
	if len(standing.Closed) > 0 {
		fmt.Fprintf(&b, "\nClosed for now, because they were tried and nothing changed since: %s.", standing.closed())
	}
	if d.Blocked != "" {
		fmt.Fprintf(&b, "\nTake %s only if no other route is safe and allowed.", quote(d.Blocked))
	}
	return b.String(), nil
}

// standing asks the guard; without one every route is open.
func (d Decision) standing(ctx context.Context, c *Context) (Standing, error) {
	if d.Guard == nil {
		return Standing{}, nil
	}
	return d.Guard.Standing(ctx, c)
}

func (d Decision) expected() string {
	text := fmt.Sprintf(`{"route": %s, "reason": at most %d characters, `+
		`"evidence": optional list of at most %d texts, "nextAction": optional text}`,
		alternatives(d.Routes), MaxDecisionText, MaxEvidence)
	if d.Blocked != "" {
		text += fmt.Sprintf(`; for %s also "blocker": what is in the way, "evidence": what proves it, `+
			`"alternatives": list of the other ways that you checked`, quote(d.Blocked))
	}
	return text
}

// DecisionEdge returns the switch that follows a decision. Each route needs a
// case; cases for other values are kept. The error is an *InvalidError.
//
// Spec: control loops, Current building blocks.
func DecisionEdge(from string, routes []string, cases []Case) (Edge, error) {
	const place = "decisionEdge"
	var p problems
	p.choices(place+".routes", routes)
	named := make(map[string]bool, len(cases))
	for _, c := range cases {
		named[c.Value] = true
	}
	for _, route := range routes {
		if !named[route] {
			p.addf(place+".cases", "no case for route %q: say which node follows", route)
		}
	}
	e := Edge{From: from, Switch: &Switch{On: routePath, Cases: slices.Clone(cases)}}
	e.shape(&p, place)
	if err := p.err(""); err != nil {
		return Edge{}, err
	}
	return e, nil
}
