package controller

import (
	"fmt"
	"slices"

	"piworkflows/internal/wording"
)

// delivery explains when the next pass comes.
func (e *explaining) delivery() {
	if !e.Loaded {
		e.add(ReasonNoDefinition, ActorDefinition, "run a host of the program that has it",
			"this program has no controller %s, so no pass of it runs here", e.Resource.Metadata.Controller)
	}
	e.suspended()
	e.host()
	switch e.Queue.State {
	case QueueClaimed:
		e.claimed()
	case QueueReady:
		e.due()
	case QueueDelayed:
		e.delayed()
	case QueueSuspended:
	case QueueNone:
		if e.Queue.Stalled != "" {
			e.add(ReasonStalled, ActorPerson, e.command("reconcile"),
				"the last pass ended with an error that trying again cannot mend: %s", e.Queue.Stalled)
		}
	}
}

func (e *explaining) suspended() {
	if s := e.Queue.Suspension; s != nil {
		e.add(ReasonSuspended, ActorPerson, e.command("unsuspend"), "suspended by %s%s", wording.OrSomebody(s.Actor), wording.Because(s.Reason))
	}
}

// host says that there is work and nobody to do it.
func (e *explaining) host() {
	if e.HostRuns {
		return
	}
	var waits string
	switch {
	case e.Queue.State == QueueReady:
		waits = "a pass is due"
	case e.Queue.State == QueueDelayed:
		waits = "the next pass waits for its time"
	case slices.ContainsFunc(e.Children, busyChild):
		waits = "a child run has to go on"
	default:
		return
	}
	e.add(ReasonNoHost, ActorPerson, "host", "%s, and no host runs in this project", waits)
}

// busyChild reports whether a host has to work on a child run.
func busyChild(c ChildRun) bool {
	return c.State == RunPending || c.State == RunRunning
}

// claimed explains a row that somebody has.
func (e *explaining) claimed() {
	switch c := e.Claimant; {
	case c == nil:
		e.add(ReasonPassRunning, ActorHost, "", "a pass works on it")
	case c.Dead:
		cause := e.add(ReasonOwnerDead, ActorHost, "",
			"a pass worked on it when its process died (%s); the key is free as soon as a host looks", c.Label)
		if !e.HostRuns {
			cause.Next, cause.Do = ActorPerson, "host"
		}
	default:
		e.add(ReasonPassRunning, ActorHost, "", "a pass works on it (%s)", c.Label)
	}
}

// due explains a row whose time has come.
func (e *explaining) due() {
	p := e.Places
	switch full := p.Limit > 0 && p.Running+p.Abandoned >= p.Limit; {
	case full && p.Abandoned > 0:
		e.add(ReasonPassesAbandoned, ActorPerson, "start the host anew",
			"%d of the %d passes that controller %s may run at once ignored their cancellation and still occupy their places",
			p.Abandoned, p.Limit, e.Resource.Metadata.Controller)
	case full:
		e.add(ReasonControllerFull, ActorHost, "", "controller %s runs %s, as many as it may at once: it waits for one to end",
			e.Resource.Metadata.Controller, wording.Count(p.Running, "pass", "passes"))
	}
	text := "the next pass is due"
	if l := e.Queue.Lane; l != LaneRequest {
		text += fmt.Sprintf(", in the lane %s: up to %s behind what is more urgent", l, l.Offset())
	}
	e.add(ReasonPassDue, ActorHost, "", "%s", text)
}

// delayed explains a row that waits for its time.
func (e *explaining) delayed() {
	q, again := e.Queue, e.command("reconcile")
	var c *Cause
	switch {
	case q.ConsecutiveErrors > 0:
		c = e.add(ReasonBackoff, ActorTime, again, "%s, and the next one waits%s",
			lastPasses(q.ConsecutiveErrors, "failed"), wording.Because(q.LastError))
	case q.Retries > 0:
		c = e.add(ReasonRetryDelay, ActorTime, again, "%s, and the next one waits", lastPasses(q.Retries, "asked to be tried again"))
	default:
		c = e.add(ReasonPassDelayed, ActorTime, again, "its controller looks again later")
	}
	c.At = q.AvailableAt
}

func lastPasses(n int, did string) string {
	if n == 1 {
		return "the last pass " + did
	}
	return fmt.Sprintf("the last %d passes %s", n, did)
}
