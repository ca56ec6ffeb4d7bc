package workflow

import "time"

// The limit of a decision whose author does not say.
const (
	// DefaultDecisionActive is about three times what a careful look at a
	// repository takes.
	DefaultDecisionActive = 15 * time.Minute
	// DefaultDecisionSubmissions allows a correction of each kind of mistake; an
	// agent that needs more does not understand what it is told.
	DefaultDecisionSubmissions = 5
)

// DecisionLimit bounds what an agent may spend on one decision. When it is used
// up the run ends with the code decision_blocked: a decision that cannot be made
// is a blocker, and the controller does not recover through itself.
//
// Spec: control loops, Progress and limits.
type DecisionLimit struct {
	// Name tells people which limit it was; the ID of the node if it is empty.
	Name string
	// Active is how long the agent may work on it. The time in which the step is
	// held or the run is paused does not count. Zero takes DefaultDecisionActive.
	Active time.Duration
	// Submissions is how many answers may be handed in, the accepted one
	// included. Zero takes DefaultDecisionSubmissions.
	Submissions int
}

// DecisionLimit returns the limit of a node that was made by Decision, with its
// defaults filled in; false for every other agent node, which has its deadline
// only.
func (n Agent) DecisionLimit() (DecisionLimit, bool) {
	if n.limit == nil {
		return DecisionLimit{}, false
	}
	return *n.limit, true
}

// or fills in the defaults.
func (l DecisionLimit) or(node string) DecisionLimit {
	if l.Name == "" {
		l.Name = node
	}
	if l.Active == 0 {
		l.Active = DefaultDecisionActive
	}
	if l.Submissions == 0 {
		l.Submissions = DefaultDecisionSubmissions
	}
	return l
}

func (l DecisionLimit) check(p *problems, place string) {
	p.text(place+".name", l.Name)
	if len(l.Name) > MaxNameBytes {
		p.addf(place+".name", "is %d bytes long, over the limit of %d: shorten it", len(l.Name), MaxNameBytes)
	}
	if l.Active < 0 {
		p.addf(place+".active", "%v is negative: give a positive time, or zero for the default of %v", l.Active, DefaultDecisionActive)
	}
	if l.Submissions < 0 {
		p.addf(place+".submissions", "%d is negative: give a positive number, or zero for the default of %d",
			l.Submissions, DefaultDecisionSubmissions)
	}
}
