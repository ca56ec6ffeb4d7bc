package controller

import (
	"slices"
	"strings"

	"piworkflows/internal/wording"
)

// outside explains what is under way beyond the passes.
func (e *explaining) outside() {
	if e.Frozen != nil && slices.ContainsFunc(e.Effects, openEffect) {
		e.add(ReasonFrozen, ActorPerson, "unfreeze", "no effect is applied: the project was frozen by %s%s",
			wording.OrSomebody(e.Frozen.Actor), wording.Because(e.Frozen.Reason))
	}
	for _, r := range e.Effects {
		e.effect(r)
	}
	for _, c := range e.Children {
		e.child(c)
	}
}

// restored tells of what is done more carefully than usual.
func (e *explaining) restored() {
	if r := e.Restored; r != nil {
		e.add(ReasonRestored, ActorPerson, "restore --accept",
			"%s brought the project back from a copy: until that is accepted, also a new effect is looked for before it is applied",
			wording.OrSomebody(r.Actor))
	}
}

func openEffect(r EffectRecord) bool { return !r.State.Final() }

func (e *explaining) effect(r EffectRecord) {
	m := e.Resource.Metadata
	switch r.State {
	case EffectPending:
		e.add(ReasonEffectPending, ActorProvider, e.command("effects"),
			"effect %s is recorded and not known to be there: it is looked for before it is tried%s", r.Key, wording.Because(r.Error))
	case EffectIndeterminate:
		e.add(ReasonEffectInDoubt, ActorProvider, e.command("effects resolve")+" "+wording.Argument(r.Key)+" VERDICT --reason WHY",
			"nobody knows what came of effect %s: it is looked for before it is tried again%s", r.Key, wording.Because(r.Error))
	case EffectRejected:
		if r.Generation == m.Generation && ReadinessOf(e.Resource).Status != True && !m.Deleting() {
			e.add(ReasonEffectRejected, ActorPerson, e.command("apply")+" --patch JSON", "effect %s was rejected%s", r.Key, wording.Because(r.Error))
		}
	case EffectApplied:
	}
}

func (e *explaining) child(c ChildRun) {
	if c.Code == CodeCancelling {
		e.add(ReasonChildCancelling, ActorHost, "view "+c.RunID, "child run %s was told to end%s", c.RunID, wording.Because(c.Error))
		return
	}
	later := c.StartsAt != nil && c.StartsAt.After(e.Now)
	if later && e.rateLimited(c) {
		return
	}
	switch c.State {
	case RunPending:
		if later {
			e.add(ReasonChildQueued, ActorTime, "view "+c.RunID, "attempt %d of child run %s waits, because %d were cut off",
				c.Attempt, c.RunID, c.Interruptions).At = c.StartsAt
			return
		}
		e.add(ReasonChildQueued, ActorHost, "view "+c.RunID, "child run %s waits for a host to start it", c.RunID)
	case RunRunning:
		e.add(ReasonChildRunning, ActorHost, "view "+c.RunID, "child run %s is running", c.RunID)
	case RunWaiting:
		e.add(ReasonChildWaiting, ActorPerson, "answer "+c.RunID, "child run %s waits for an answer", c.RunID)
	case RunInterrupted:
		e.add(ReasonChildInterrupted, ActorHost, "view "+c.RunID,
			"attempt %d of child run %s was interrupted: the next pass starts another one", c.Attempt, c.RunID)
	case RunSucceeded, RunFailed: // the controller knows what it makes of them
	}
}

// rateLimited explains a child that waits because of what its controller asks for in
// an hour.
func (e *explaining) rateLimited(c ChildRun) bool {
	switch c.Code {
	case CodeChildRateLimited:
		e.add(ReasonChildRateLimited, ActorTime, "view "+c.RunID,
			"child run %s waits, because controller %s asks for more runs in an hour than its definition allows",
			c.RunID, e.Resource.Metadata.Controller).At = c.StartsAt
	case CodeAgentRateLimited:
		e.add(ReasonAgentRateLimited, ActorTime, "view "+c.RunID,
			"child run %s waits before an agent node, because the runs of controller %s made more agent attempts in an hour "+
				"than its definition allows", c.RunID, e.Resource.Metadata.Controller).At = c.StartsAt
	default:
		return false
	}
	return true
}

// deletion explains what the deletion waits for.
func (e *explaining) deletion() {
	e.held()
	if e.Queue.Suspension == nil && !e.waitsForDeletion() {
		e.add(ReasonDeletionDue, ActorHost, "", "nothing holds its deletion: the next pass does it")
	}
}

// held explains what has to end before the resource can go.
func (e *explaining) held() {
	e.finalizers()
	for _, r := range e.Effects {
		if openEffect(r) {
			e.add(ReasonHeldByEffect, ActorProvider, "", "its deletion waits until it is known what became of effect %s", r.Key)
		}
	}
	for _, c := range e.Children {
		if busyChild(c) {
			e.add(ReasonHeldByChild, ActorHost, "view "+c.RunID, "its deletion waits for the end of child run %s", c.RunID)
		}
	}
}

// finalizers explains those whose controller has to clean up. If it is not here and
// does not come back, a person takes them away one by one.
func (e *explaining) finalizers() {
	held := e.Resource.Metadata.Finalizers
	names := strings.Join(held, ", ")
	switch {
	case len(held) > 0 && !e.Loaded:
		e.add(ReasonOrphanFinalizer, ActorDefinition,
			"run a host of the program that has it, or in the last resort "+e.command("delete")+" --force-finalizer "+held[0]+" --reason WHY",
			"its deletion waits for %s, and this program has not the controller that removes it", names)
	case len(held) > 0:
		e.add(ReasonHeldByFinalizer, ActorHost, "", "its deletion waits until its controller has cleaned up: %s", names)
	}
}

func (e *explaining) waitsForDeletion() bool {
	return len(e.Resource.Metadata.Finalizers) > 0 ||
		slices.ContainsFunc(e.Effects, openEffect) || slices.ContainsFunc(e.Children, busyChild)
}
