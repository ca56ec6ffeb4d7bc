package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/runqueue"
)

// StartChild marks an attempt as running; see controller.Store.
func (s *Store) StartChild(ctx context.Context, run *runqueue.Claim) error {
	return s.do(ctx, "start child", func(t *tx) error {
		row, err := t.liveChildRun(run)
		if err != nil {
			return err
		}
		child, found, err := t.childOf(row)
		if err != nil || !found || child.State != controller.RunPending {
			return err
		}
		from := child
		child.State, child.StartsAt = controller.RunRunning, nil
		if uncancelled(child) {
			child.Code = ""
		}
		_, err = t.changeChild(from, child)
		return err
	})
}

// FinishChild ends an attempt; see controller.Store.
func (s *Store) FinishChild(ctx context.Context, run *runqueue.Claim, o controller.ChildOutcome) error {
	status, err := checkOutcome(&o)
	if err != nil {
		return err
	}
	return s.do(ctx, "finish child", func(t *tx) error {
		row, err := t.liveChildRun(run)
		if err != nil {
			return err
		}
		child, found, err := t.childOf(row)
		if err != nil {
			return err
		}
		from := child
		child.State, child.Error, child.Output, child.StartsAt, child.Code = o.State, o.Error, o.Output, nil, ""
		if cancelled(row, &child) {
			status = runqueue.Cancelled
		}
		if err := t.endRun(run, status, o.Error); err != nil || !found || from.State.Final() {
			return err
		}
		if child.State == controller.RunInterrupted && !o.Stopped {
			child.Interruptions++
		}
		parent, err := t.changeChild(from, child)
		if err != nil {
			return err
		}
		return t.goOrWake(parent, controller.LaneEvent)
	})
}

// checkOutcome bounds an outcome and returns the status of its run row. A
// waiting run is done as a row: its continuation is another one.
func checkOutcome(o *controller.ChildOutcome) (runqueue.Status, error) {
	o.Error = limit.Text(o.Error, controller.MaxError)
	if len(o.Output) > 0 {
		output, err := canonical.Canonical(o.Output)
		if err != nil {
			return "", fmt.Errorf("output of a child run: %w", err)
		}
		o.Output = output
	} else {
		o.Output = json.RawMessage(nil)
	}
	if err := limit.Bytes("output of a child run", o.Output, controller.MaxRequestBytes); err != nil {
		return "", err
	}
	switch o.State {
	case controller.RunSucceeded, controller.RunWaiting:
		return runqueue.Done, nil
	case controller.RunFailed, controller.RunInterrupted:
		return runqueue.Failed, nil
	default:
		return "", fmt.Errorf("a child attempt cannot end as %.20q: use succeeded, failed, interrupted or waiting", string(o.State))
	}
}

// liveChildRun finds the row that the claim of a child run holds.
func (t *tx) liveChildRun(run *runqueue.Claim) (runqueue.Row, error) {
	row, err := t.liveRun(run)
	if err == nil && row.ChildOf == "" {
		err = fmt.Errorf("run %.200q is no child run: finish it in the run queue", row.RunID)
	}
	return row, err
}

// childOf finds the request of a run, as long as the run is its current attempt
// and the parent is there.
func (t *tx) childOf(row runqueue.Row) (controller.ChildRun, bool, error) {
	child, found, err := t.child("request_id = ?", row.ChildOf)
	return child, found && child.RunID == row.RunID, err
}

// changeChild stores the new state of a request, shows it in the parent, and
// tells of it.
func (t *tx) changeChild(from, child controller.ChildRun) (parent controller.Ref, err error) {
	if err := t.saveChild(from, child); err != nil {
		return parent, err
	}
	var r record
	if _, err := t.first("SELECT "+recordColumns+" FROM resources r WHERE r.uid = ?",
		values(child.ResourceUID), r.columns()...); err != nil {
		return parent, err
	}
	shown, err := r.shows(child.RequestID)
	if err != nil {
		return r.Ref, err
	}
	if shown {
		ended := child.State.Final() || child.State == controller.RunWaiting
		if err := t.point(r.uid, child, ended); err != nil {
			return r.Ref, err
		}
	}
	return r.Ref, t.tellChild(r.Ref, controller.EventWorkflowStateChanged, child)
}
