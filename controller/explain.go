package controller

import (
	"fmt"
	"strings"
	"time"
)

// Actor is who acts next on a resource.
type Actor string

// The actors of an explanation.
const (
	// ActorNobody has nothing to do: all is as it was asked for.
	ActorNobody Actor = "nobody"
	// ActorTime is a delay that has to pass.
	ActorTime Actor = "time"
	// ActorHost is a running host, or one that has to be started.
	ActorHost Actor = "host"
	// ActorPerson is whoever asked for the resource, or an operator.
	ActorPerson Actor = "person"
	// ActorProvider is what an effect was asked of.
	ActorProvider Actor = "provider"
	// ActorDefinition is a program that has the controller.
	ActorDefinition Actor = "definition"
)

// ReasonCode is the stable code of one reason of an explanation; docs/reasons.md
// has an entry for each.
type ReasonCode string

// The codes, the most urgent first.
const (
	ReasonNoDefinition    ReasonCode = "controller_not_loaded"
	ReasonSuspended       ReasonCode = "suspended"
	ReasonPassRunning     ReasonCode = "pass_running"
	ReasonNoHost          ReasonCode = "no_host"
	ReasonPassDue         ReasonCode = "pass_due"
	ReasonBackoff         ReasonCode = "error_backoff"
	ReasonPassDelayed     ReasonCode = "pass_delayed"
	ReasonStalled         ReasonCode = "stalled"
	ReasonFrozen          ReasonCode = "frozen"
	ReasonEffectInDoubt   ReasonCode = "effect_in_doubt"
	ReasonChildRunning    ReasonCode = "child_running"
	ReasonChildWaiting    ReasonCode = "child_waiting"
	ReasonHeldByFinalizer ReasonCode = "held_by_finalizer"
	ReasonDeletionDue     ReasonCode = "deletion_due"
	ReasonNeverObserved   ReasonCode = "never_observed"
	ReasonNotReady        ReasonCode = "not_ready"
	ReasonReadyUnknown    ReasonCode = "readiness_unknown"
	ReasonIsReady         ReasonCode = "ready"
)

// ReasonCodes returns all codes, in the order in which reasons are given.
func ReasonCodes() []ReasonCode {
	return []ReasonCode{
		ReasonNoDefinition, ReasonSuspended, ReasonPassRunning, ReasonNoHost, ReasonPassDue, ReasonBackoff,
		ReasonPassDelayed, ReasonStalled, ReasonFrozen, ReasonEffectInDoubt, ReasonChildRunning, ReasonChildWaiting,
		ReasonHeldByFinalizer, ReasonDeletionDue, ReasonNeverObserved, ReasonNotReady, ReasonReadyUnknown, ReasonIsReady,
	}
}

// Standing is the summary of an explanation.
type Standing string

// The standings of a resource.
const (
	StandingReady       Standing = "Ready"
	StandingProgressing Standing = "Progressing"
	StandingBlocked     Standing = "Blocked"
	StandingStalled     Standing = "Stalled"
	StandingSuspended   Standing = "Suspended"
	StandingDeleting    Standing = "Deleting"
)

// Explanation says how a resource stands, why, and who acts next.
type Explanation struct {
	Standing Standing
	// Reasons are never empty, the most urgent first.
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
	Effects  []EffectRecord
	Children []ChildRun
	// Loaded says that the program which asks has the controller, HostRuns that a
	// host works on the store.
	Loaded, HostRuns bool
	// Frozen says why no effect of the project is applied; nil if they are.
	Frozen *Suspension
	Now    time.Time
}

// Explain answers why a resource is not ready, not running or not deleted. It
// reads nothing but the situation.
func Explain(s Situation) Explanation {
	e := explaining{Situation: s}
	e.delivery()
	e.outside()
	if s.Resource.Metadata.Deleting() {
		e.deletion()
	} else {
		e.readiness()
	}
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
	return verb + " " + e.Resource.Metadata.Controller + " " + e.Resource.Metadata.Key
}

// delivery explains when the next pass comes.
func (e *explaining) delivery() {
	q := e.Queue
	if !e.Loaded {
		e.add(ReasonNoDefinition, ActorDefinition, "run a host of the program that has it",
			"this program has no controller %s, so no pass of it runs here", e.Resource.Metadata.Controller)
	}
	if s := q.Suspension; s != nil {
		e.add(ReasonSuspended, ActorPerson, e.command("unsuspend"), "suspended by %s%s", orSomebody(s.Actor), because(s.Reason))
	}
	switch q.State {
	case QueueClaimed:
		e.add(ReasonPassRunning, ActorHost, "", "a pass works on it")
		return
	case QueueReady, QueueDelayed:
	default:
		e.stalled()
		return
	}
	if !e.HostRuns {
		e.add(ReasonNoHost, ActorPerson, "host", "a pass is due, and no host runs in this project")
	}
	e.due()
}

// due explains a row that waits.
func (e *explaining) due() {
	q := e.Queue
	var c *Cause
	switch {
	case q.State == QueueReady:
		c = e.add(ReasonPassDue, ActorHost, "", "the next pass is due")
	case q.ConsecutiveErrors > 0 || q.Retries > 0:
		c = e.add(ReasonBackoff, ActorTime, e.command("reconcile"), "%s, and the next one waits%s", tries(q), because(q.LastError))
	default:
		c = e.add(ReasonPassDelayed, ActorTime, e.command("reconcile"), "the controller looks again later")
	}
	if q.State == QueueDelayed {
		c.At = q.AvailableAt
	}
}

func tries(q QueueRow) string {
	if q.ConsecutiveErrors > 0 {
		return fmt.Sprintf("%d passes in a row failed", q.ConsecutiveErrors)
	}
	return fmt.Sprintf("%d passes in a row asked to be tried again", q.Retries)
}

func (e *explaining) stalled() {
	if e.Queue.Stalled != "" {
		e.add(ReasonStalled, ActorPerson, e.command("reconcile"),
			"the last pass ended with an error that trying again cannot mend: %s", e.Queue.Stalled)
	}
}

// outside explains what is under way beyond the passes.
func (e *explaining) outside() {
	frozen := e.Frozen != nil
	for _, r := range e.Effects {
		if r.State.Final() {
			continue
		}
		if frozen {
			frozen = false // say it once
			e.add(ReasonFrozen, ActorPerson, "unfreeze", "no effect is applied: the project was frozen by %s%s",
				orSomebody(e.Frozen.Actor), because(e.Frozen.Reason))
		}
		e.add(ReasonEffectInDoubt, ActorProvider, e.command("effects resolve")+" "+r.Key+" VERDICT --reason WHY",
			"effect %s is %s and will be observed%s", r.Key, r.State, because(r.Error))
	}
	for _, c := range e.Children {
		switch c.State {
		case RunPending, RunRunning:
			e.add(ReasonChildRunning, ActorHost, "view "+c.RunID, "child run %s is %s", c.RunID, c.State)
		case RunWaiting:
			e.add(ReasonChildWaiting, ActorPerson, "answer "+c.RunID, "child run %s waits for an answer", c.RunID)
		case RunSucceeded, RunFailed, RunInterrupted: // the controller knows what it makes of them
		}
	}
}

func (e *explaining) deletion() {
	if held := e.Resource.Metadata.Finalizers; len(held) > 0 {
		e.add(ReasonHeldByFinalizer, ActorHost, "", "its deletion waits until its controller has cleaned up: %s", strings.Join(held, ", "))
		return
	}
	e.add(ReasonDeletionDue, ActorHost, "", "its deletion is done with the next pass")
}

func (e *explaining) readiness() {
	ready := ReadinessOf(e.Resource)
	says := ready.Reason + because(ready.Message)
	waits := e.Queue.State != QueueNone
	switch {
	case ready.Status == True:
		e.add(ReasonIsReady, ActorNobody, "", "%s", says)
	case ready.Status == False:
		e.add(ReasonNotReady, ActorPerson, e.command("apply"), "%s", says)
	case ready.Reason == ReasonNotObserved || ready.Reason == ReasonOutdatedGeneration:
		do := ""
		if !waits {
			do = e.command("reconcile")
		}
		e.add(ReasonNeverObserved, ActorHost, do, "no pass has reported on generation %d yet", e.Resource.Metadata.Generation)
	default:
		e.add(ReasonReadyUnknown, ActorHost, "", "%s", says)
	}
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

func orSomebody(name string) string {
	if name == "" {
		return "somebody"
	}
	return name
}

// because adds a reason to a sentence, if there is one.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
