package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The bounds of a decision. They keep it readable for a person and cheap to
// carry through every later prompt.
const (
	// MaxReason bounds the reason, in characters.
	MaxReason = 2000
	// MaxEvidence bounds the items of evidence.
	MaxEvidence = 32
	// MaxEvidenceItem bounds one item of evidence, in characters.
	MaxEvidenceItem = 2000
	// MaxNextAction bounds the next action, in characters.
	MaxNextAction = 2000
)

// The field of a decision that names the route, and the path to it.
const (
	routeField = "route"
	routePath  = "$." + routeField
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
	// Check optionally holds rules of single routes, for example that complete
	// needs evidence. It is asked for declared routes only, also if something
	// else is wrong with the answer, so that the agent learns everything at
	// once. Its error goes back to the agent within the same attempt.
	Check func(route string, output DecisionOutput) error
}

// DecisionOutput is the answer of a decision, and the form in which a compute
// node that decides should answer too.
type DecisionOutput struct {
	// Route is one of the declared routes.
	Route string `json:"route"`
	// Reason says why; required, at most MaxReason characters.
	Reason string `json:"reason"`
	// Evidence are the facts that it rests on; at most MaxEvidence items of
	// MaxEvidenceItem characters.
	Evidence []string `json:"evidence,omitempty"`
	// NextAction is what the branch should do; at most MaxNextAction characters.
	NextAction string `json:"nextAction,omitempty"`
}

// Node returns the agent node. What is wrong with the decision is reported when
// the definition is checked, together with everything else.
func (d Decision) Node() Agent {
	var p problems
	p.choices("routes", d.Routes)
	d.Limit.check(&p, "limit")
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
	return strings.TrimRight(question, " \t\r\n") +
		"\n\nDecide on one route, written exactly as here: " + d.alternatives() +
		".\nGive a short reason that rests on what you can show.", nil
}

func (d Decision) expected() string {
	return fmt.Sprintf(`{"route": %s, "reason": at most %d characters, `+
		`"evidence": optional list of at most %d texts, "nextAction": optional text}`,
		d.alternatives(), MaxReason, MaxEvidence)
}

// alternatives writes the routes as JSON texts.
func (d Decision) alternatives() string {
	quoted := make([]string, len(d.Routes))
	for i, route := range d.Routes {
		quoted[i] = quote(route)
	}
	return strings.Join(quoted, " | ")
}

// validate accepts a submission unchanged, fields of the author's own included.
func (d Decision) validate(_ context.Context, _ *Context, output json.RawMessage) (json.RawMessage, error) {
	if err := d.judge(output); err != nil {
		return nil, err
	}
	return output, nil
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
