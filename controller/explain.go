package controller

import (
	"fmt"
	"slices"
	"time"

	"piworkflows/internal/wording"
)

// Explanation says how a resource stands, why, and who acts next.
type Explanation struct {
	Standing Standing
	// Reasons are never empty, the most urgent first: who acts next is the Next of
	// the first one.
	Reasons []Cause
}

// Cause is one reason of an explanation.
type Cause struct {
	Code    ReasonCode
	Message string
	// Next is who acts next, At when, if that is known, and Do what a person can
	// do about it, if there is something.
	Next Actor
	At   *time.Time
	Do   string
}

// Situation is all that an explanation rests on.
type Situation struct {
	Resource Raw
	Queue    QueueRow
	// Claimant is who works on the key; nil if nobody does or nobody knows.
	Claimant *Claimant
	Effects  []EffectRecord
	Children []ChildRun
	// Loaded says that the program which asks has the controller, HostRuns that a
	// host works on the store.
	Loaded, HostRuns bool
	// Places says how busy the controller is; the zero value is not known.
	Places Places
	// Frozen says why no effect of the project is applied; nil if they are.
	Frozen *Suspension
	// Restored says that also new effects are observed first; nil if they are not.
	Restored *Restoration
	Now      time.Time
}

// Places are the passes of one controller at once.
type Places struct {
	// Limit is how many there may be; zero is not known.
	Limit int
	// Running counts passes, Abandoned reconcilers that ignored their cancellation
	// and occupy their place until they return.
	Running, Abandoned int
}

// Explain answers why a resource is not ready, not running or not deleted. It
// reads nothing but the situation, and whatever that is, there is a reason.
func Explain(s Situation) Explanation {
	e := explaining{Situation: s}
	e.delivery()
	e.outside()
	if s.Resource.Metadata.Deleting() {
		e.deletion()
	} else {
		e.readiness()
	}
	e.restored()
	slices.SortStableFunc(e.causes, byUrgency)
	return Explanation{Standing: e.standing(), Reasons: e.causes}
}

type explaining struct {
	Situation
	causes []Cause
}

func (e *explaining) add(code ReasonCode, next Actor, do, format string, args ...any) *Cause {
	e.causes = append(e.causes, Cause{Code: code, Message: fmt.Sprintf(format, args...), Next: next, Do: do})
	return &e.causes[len(e.causes)-1]
}

// command writes a command for this resource.
func (e *explaining) command(verb string) string {
	return verb + " " + e.Resource.Metadata.Controller + " " + wording.Argument(e.Resource.Metadata.Key)
}

// readiness explains what the controller says.
func (e *explaining) readiness() {
	ready := ReadinessOf(e.Resource)
	says := ready.Reason + wording.Because(ready.Message)
	switch {
	case ready.Status == True:
		e.add(ReasonIsReady, ActorNobody, "", "%s", says)
	case ready.Status == False:
		e.add(ReasonNotReady, ActorPerson, e.command("apply")+" --patch JSON", "%s", says)
	case ready.Reason == ReasonNotObserved:
		e.unobserved(ReasonNeverObserved, "no pass has reported on it yet")
	case e.behind():
		e.unobserved(ReasonOutdated, fmt.Sprintf("the spec is of generation %d, and what its controller says of it of an older one",
			e.Resource.Metadata.Generation))
	case ready.Reason == ReasonNoReadyCondition:
		e.add(ReasonNoCondition, ActorNobody, "", "its controller sets no condition %s, so nobody can tell", Ready)
	default:
		e.add(ReasonReadyUnknown, ActorHost, "", "%s", says)
	}
}

// behind reports whether the condition Ready, or without one the status, is of an
// older generation than the spec.
func (e *explaining) behind() bool {
	return ReadinessOf(e.Resource).Reason == ReasonOutdatedGeneration ||
		e.Resource.Status.ObservedGeneration < e.Resource.Metadata.Generation
}

// unobserved explains a readiness that only a pass can tell. Without a queue row
// somebody has to ask for one.
func (e *explaining) unobserved(code ReasonCode, text string) {
	if e.Queue.State == QueueNone {
		e.add(code, ActorPerson, e.command("reconcile"), "%s", text)
		return
	}
	e.add(code, ActorHost, "", "%s", text)
}

// standing is the summary: what keeps everything else from moving comes first.
func (e *explaining) standing() Standing {
	ready := ReadinessOf(e.Resource).Status
	switch {
	case e.Resource.Metadata.Deleting():
		return StandingDeleting
	case e.Queue.Suspension != nil:
		return StandingSuspended
	case e.Queue.State == QueueNone && e.Queue.Stalled != "":
		return StandingStalled
	case ready == True:
		return StandingReady
	case ready == False && e.Queue.State == QueueNone:
		return StandingBlocked
	default:
		return StandingProgressing
	}
}
