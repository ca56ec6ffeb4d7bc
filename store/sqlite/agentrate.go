package sqlite

import (
	"context"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// CountAgentAttempt counts an attempt, or says how long there is no room for it; see
// controller.Store.
func (s *Store) CountAgentAttempt(ctx context.Context, run *runqueue.Claim) (time.Duration, error) {
	return write(ctx, s, "count agent attempt", func(t *tx) (time.Duration, error) {
		row, err := t.liveChildRun(run)
		if err != nil {
			return 0, err
		}
		child, found, err := t.childOf(row)
		if err != nil || !found {
			return 0, err
		}
		rate, found, err := t.agentRate(child)
		if err != nil || !found {
			return 0, err
		}
		wait, err := t.useAgents(rate)
		if err == nil {
			err = t.holdChild(rate.parent, child, wait)
		}
		return wait, err
	})
}

// agentRate is what the child runs of a controller have used up of its agent
// attempts.
type agentRate struct {
	controllerID int64
	parent       controller.Ref
	until        time.Time
	perHour      int
}

// agentRate finds that of the controller that asked for a child.
func (t *tx) agentRate(child controller.ChildRun) (r agentRate, found bool, err error) {
	found, err = t.first(`SELECT c.id, r.controller, r.resource_key, c.agents_until, c.agents_per_hour
		FROM resources r JOIN controllers c ON c.id = r.controller_id WHERE r.uid = ?`,
		values(child.ResourceUID), &r.controllerID, &r.parent.Controller, &r.parent.Key, &r.until, &r.perHour)
	return r, found, err
}

// useAgents uses up the share of one attempt, or says how long there is no room for
// it. What is used up is never more than an hour ahead: nobody waits longer than a
// share because a clock was set back or the rate was raised.
func (t *tx) useAgents(r agentRate) (wait time.Duration, err error) {
	if r.perHour <= 0 {
		return 0, nil
	}
	full, until := t.now.Add(time.Hour), r.until
	if until.Before(t.now) {
		until = t.now
	}
	if until.After(full) {
		until = full
	}
	until = until.Add(share(r.perHour))
	if until.After(full) {
		return until.Sub(full), nil
	}
	return 0, t.exec("UPDATE controllers SET agents_until = ? WHERE id = ?", until, r.controllerID)
}

// holdChild lets a child show that it waits, or that it does not any more. One that
// was told to end shows that.
func (t *tx) holdChild(parent controller.Ref, child controller.ChildRun, wait time.Duration) error {
	if child.Code == controller.CodeCancelling {
		return nil
	}
	from := child
	child.Code, child.StartsAt = "", nil
	if wait > 0 {
		at := t.now.Add(wait)
		child.Code, child.StartsAt = controller.CodeAgentRateLimited, &at
	}
	if child.Code == "" && from.Code == "" {
		return nil
	}
	err := t.saveChild(from, child)
	if err == nil && child.Code != from.Code {
		err = t.tellChild(parent, controller.EventWorkflowStateChanged, child)
	}
	return err
}
