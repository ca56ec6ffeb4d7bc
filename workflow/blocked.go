package workflow

import (
	"fmt"
	"strings"
)

// Blocked is what a decision for the blocked route must show: that the goal is
// not reached and no safe route within the authority of the run remains. The
// failure of one branch proves neither.
//
// Spec: control loops, Completion and blocked results.
type Blocked struct {
	// Blocker names what is in the way. This and every item has at most
	// MaxDecisionText characters.
	Blocker string `json:"blocker"`
	// Evidence proves it; 1 to MaxEvidence items.
	Evidence []string `json:"evidence"`
	// Alternatives are the other ways that were checked, each with what rules it
	// out; 1 to MaxEvidence items.
	Alternatives []string `json:"alternatives"`
}

// Check reports what is missing or too long, all at once in one *DecisionError.
// It serves both kinds of decision: a rejected answer of an agent, and the error
// of a function that would end its loop without a proof.
func (b Blocked) Check() error {
	var a answer
	a.blocked(b)
	a.bounded("evidence", b.Evidence)
	a.bounded("alternatives", b.Alternatives)
	a.length("blocker", b.Blocker)
	return a.err(nil)
}

// blocked reports what is missing.
func (a *answer) blocked(b Blocked) {
	if blank(b.Blocker) {
		a.addf("blocker", "name what is in the way")
	}
	a.proof("evidence", b.Evidence, "show what proves the blocker")
	a.proof("alternatives", b.Alternatives, "name the other ways that you checked, and what rules each of them out")
}

func (a *answer) proof(place string, items []string, wanted string) {
	if len(items) == 0 {
		a.addf(place, "%s", wanted)
	}
	for i, item := range items {
		if blank(item) {
			a.addf(fmt.Sprintf("%s[%d]", place, i), "is blank: fill it in or leave it out")
		}
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
