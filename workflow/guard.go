package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"piworkflows/internal/canonical"
)

// How far a LoopGuard looks back, in decisions of its loop.
const (
	// DefaultLookBack sees a circle through every route of a large loop.
	DefaultLookBack = 64
	// MaxLookBack bounds the work of one question.
	MaxLookBack = 10_000
)

// LoopGuard keeps a control loop from repeating itself: a route that was chosen
// before on the same facts would bring nothing new, and is closed until a fact
// changes. The author declares the facts; the guard holds no state and reads
// nothing but steps, so it means the same after a resume and in a continuation.
//
// The facts of a decision are recorded as the fingerprint in its own output: in
// that of an agent a Decision with a Guard puts it there, in that of a function
// the value that Standing.Admit returns. A function that repeats the decision of
// an agent must repeat the fingerprint too.
//
// What an agent wrote as its evidence is no fact: another wording would open
// every route again. An answer to a checkpoint is one if Facts names it.
//
// Spec: control loops, Progress and limits.
type LoopGuard struct {
	// Loop is the guarded loop. Required.
	Loop *ExpandedLoop
	// Facts returns what counts as progress in the loop as it stands, at least
	// one fact: digests, commits, results of checks, the latest failure. It must
	// be a function of what is recorded, and leave out what differs without
	// meaning (times, attempt IDs, temporary paths; see NormalText). Required.
	Facts func(ctx context.Context, c *Context) (Facts, error)
	// Waits are the routes that wait for something outside and so repeat without
	// new facts, each with a bound of its own.
	Waits []Wait
	// LookBack is how many earlier decisions are searched, which bounds the cost
	// of a question in a long run: a repetition with a longer period is not seen,
	// and MaxSteps ends it. Zero takes DefaultLookBack, or twice the largest
	// bound of a wait if that is more; at most MaxLookBack.
	LookBack int
}

// Wait declares a route that waits.
type Wait struct {
	// Route is a route of the loop that is not terminal.
	Route string
	// Most is how often it may be chosen on the same facts, at least 1.
	Most int
}

// Facts are what is so at one moment, by name: values that encoding/json can
// write. Text that a tool wrote goes through NormalText first.
type Facts map[string]any

// Fingerprint returns the hex SHA-256 of the facts in canonical form.
func (f Facts) Fingerprint() (string, error) {
	if len(f) == 0 {
		return "", errors.New("a control loop without facts can make no progress: declare what counts as new")
	}
	raw, err := canonical.Marshal(map[string]any(f))
	if err != nil {
		return "", fmt.Errorf("write the facts: %w", err)
	}
	return canonical.Fingerprint(raw)
}

// Check reports what is wrong with the guard as an *InvalidError; every other
// method checks it first.
func (g LoopGuard) Check() error {
	var p problems
	g.check(&p, "loopGuard")
	return p.err("")
}

func (g LoopGuard) check(p *problems, place string) {
	p.require(g.Loop != nil, place+".loop", "the control loop")
	p.require(g.Facts != nil, place+".facts", "the function Facts")
	if g.LookBack < 0 || g.lookBack() > MaxLookBack {
		p.addf(place+".lookBack", "%d decisions are not between 0 and %d", g.lookBack(), MaxLookBack)
	}
	seen := make(map[string]bool, len(g.Waits))
	for i, w := range g.Waits {
		g.wait(p, fmt.Sprintf("%s.waits[%d]", place, i), w, seen)
	}
}

func (g LoopGuard) wait(p *problems, place string, w Wait, seen map[string]bool) {
	switch terminal, known := g.Loop.route(w.Route); {
	case g.Loop != nil && !known:
		p.addf(place, "%q is no route of the loop: name one of %s", w.Route, alternatives(g.Loop.Choices()))
	case terminal:
		p.addf(place, "%q ends the loop and cannot wait: name another route", w.Route)
	case seen[w.Route]:
		p.addf(place, "%q is declared twice: keep one of the bounds", w.Route)
	}
	seen[w.Route] = true
	if w.Most < 1 || w.Most > g.lookBack() {
		p.addf(place, "a bound of %d is not between 1 and the look-back of %d decisions", w.Most, g.lookBack())
	}
}

func (g LoopGuard) lookBack() int {
	if g.LookBack != 0 {
		return g.LookBack
	}
	look := DefaultLookBack
	for _, w := range g.Waits {
		look = max(look, 2*w.Most)
	}
	return look
}

// most returns how often a route may be chosen on the same facts.
func (g LoopGuard) most(route string) int {
	for _, w := range g.Waits {
		if w.Route == route {
			return w.Most
		}
	}
	return 1
}

// Standing tells which routes of the loop are open on the facts as they are.
func (g LoopGuard) Standing(ctx context.Context, c *Context) (Standing, error) {
	if err := g.Check(); err != nil {
		return Standing{}, err
	}
	facts, err := g.Facts(ctx, c)
	if err != nil {
		return Standing{}, err
	}
	s := Standing{Facts: slices.Sorted(maps.Keys(facts)), Stuck: true}
	if s.Fingerprint, err = facts.Fingerprint(); err != nil {
		return Standing{}, err
	}
	earlier, err := g.earlier(c.View, s.Fingerprint)
	if err != nil {
		return Standing{}, err
	}
	g.sort(&s, earlier)
	return s, nil
}

// sort puts each route of the loop where it belongs.
func (g LoopGuard) sort(s *Standing, earlier map[string]Repeat) {
	for _, route := range g.Loop.choices {
		terminal, _ := g.Loop.route(route)
		if r := earlier[route]; !terminal && r.Times >= g.most(route) {
			s.Closed = append(s.Closed, r)
			continue
		}
		s.Open = append(s.Open, route)
		s.Stuck = s.Stuck && terminal
	}
}

// earlier finds the decisions that were made on the same facts, by route.
func (g LoopGuard) earlier(v View, fingerprint string) (map[string]Repeat, error) {
	found := make(map[string]Repeat)
	left := g.lookBack()
	for i := v.Steps() - 1; i >= 0 && left > 0; i-- {
		step := v.Step(i)
		if step.NodeID != g.Loop.decide || step.Outcome != OK {
			continue
		}
		left--
		d, err := decode[DecisionOutput](step.Output, "recorded decision of node "+step.NodeID)
		if err != nil {
			return nil, err
		}
		if d.Fingerprint == fingerprint {
			found[d.Route] = found[d.Route].and(d.Route, step.AttemptID)
		}
	}
	return found, nil
}
