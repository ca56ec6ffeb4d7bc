package sqlite

import (
	"context"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
	"piworkflows/runqueue"
)

// ReserveChild finds or starts a child run; see controller.Store. The version is
// compared only if something is written, and changes of status.workflowRun since
// it are no conflict.
func (s *Store) ReserveChild(
	ctx context.Context, c *controller.Claim, r controller.ChildReservation,
) (controller.ChildRun, controller.ChildReserved, error) {
	want, err := newChildRequest(r)
	if err != nil {
		return controller.ChildRun{}, controller.ChildReserved{}, err
	}
	done, err := write(ctx, s, "reserve child", func(t *tx) (reservedChild, error) { return t.reserveChild(c, want) })
	return done.run, done.reserved, err
}

// childRequest is a reservation that was checked.
type childRequest struct {
	controller.ChildReservation
	fingerprint string
	row         runqueue.Row
}

func newChildRequest(r controller.ChildReservation) (childRequest, error) {
	want := childRequest{ChildReservation: r, row: runqueue.Row{
		RunID: r.RunID, Workflow: r.Workflow, Source: r.Identity.Source, Digest: r.Identity.Digest, Input: r.Input,
		Status: runqueue.Queued,
	}}
	if err := controller.ValidateKey("request key", r.RequestKey); err != nil {
		return want, err
	}
	if err := checkRun(&want.row); err != nil {
		return want, err
	}
	var err error
	want.fingerprint, err = canonical.Fingerprint(want.row.Input)
	return want, err
}

type reservedChild struct {
	run      controller.ChildRun
	reserved controller.ChildReserved
}

func (t *tx) reserveChild(c *controller.Claim, want childRequest) (reservedChild, error) {
	h, err := t.live(c)
	if err != nil {
		return reservedChild{}, err
	}
	run, found, err := t.child("resource_uid = ? AND request_key = ?", h.uid, want.RequestKey)
	if err != nil {
		return reservedChild{}, err
	}
	if differs := childDifference(run, want); found && differs != "" {
		return reservedChild{}, &controller.ChildConflictError{Ref: c.Ref, RequestKey: want.RequestKey, Differs: differs}
	}
	if found && run.State != controller.RunInterrupted {
		return t.foundChild(h, run, want)
	}
	if !h.current(want.Version) {
		return reservedChild{}, &controller.ConflictError{Ref: h.Ref, Expected: want.Version, Current: h.version}
	}
	if want.Retry.Exhausted(run.Interruptions) {
		return t.giveUp(h, run)
	}
	return t.startAttempt(h, run, want)
}

// childDifference names what a key was used for before that is not asked for
// now.
func childDifference(run controller.ChildRun, want childRequest) string {
	switch {
	case run.InputFingerprint != want.fingerprint:
		return "input"
	case run.Workflow != want.Workflow:
		return "workflow"
	}
	return ""
}

// foundChild makes sure that the resource points to the child, which it left if
// it asked for another one meanwhile.
func (t *tx) foundChild(h held, run controller.ChildRun, want childRequest) (reservedChild, error) {
	done := reservedChild{run: run, reserved: controller.ChildReserved{Version: want.Version, WorkflowRun: pointer(run)}}
	same, err := h.pointsAt(run)
	if same || err != nil {
		return done, err
	}
	if !h.current(want.Version) {
		return reservedChild{}, &controller.ConflictError{Ref: h.Ref, Expected: want.Version, Current: h.version}
	}
	done.reserved.Version = h.version + 1
	return done, t.point(h.uid, run, false)
}

// giveUp fails a request whose attempts were cut off too often.
func (t *tx) giveUp(h held, run controller.ChildRun) (reservedChild, error) {
	from := run
	run.State, run.Code = controller.RunFailed, controller.CodeInterruptedTooOften
	run.Error = limit.Text(fmt.Sprintf("%d attempts were cut off, the last one because %s", run.Interruptions, run.Error), controller.MaxError)
	err := t.saveChild(from, run)
	if err == nil {
		err = t.point(h.uid, run, false)
	}
	if err == nil {
		err = t.tellChild(h.Ref, controller.EventWorkflowStateChanged, run)
	}
	return reservedChild{run: run, reserved: controller.ChildReserved{Version: h.version + 1, WorkflowRun: pointer(run)}}, err
}

// startAttempt queues the first or the next attempt. Its run ID is on disk
// before anybody can start the run.
func (t *tx) startAttempt(h held, run controller.ChildRun, want childRequest) (reservedChild, error) {
	event, from, due := controller.EventWorkflowStateChanged, run, t.now
	if run.Attempt == 0 {
		event = controller.EventWorkflowRequested
		run = controller.ChildRun{
			RequestID: newUID(), ResourceUID: h.uid, RequestKey: want.RequestKey,
			InputFingerprint: want.fingerprint, Workflow: want.Workflow,
		}
	}
	if delay := want.Retry.Delay(run.Interruptions); delay > 0 {
		due = t.now.Add(delay)
		run.StartsAt = &due
	}
	run.Code = ""
	if err := t.paceChild(h, want, &run, &due); err != nil {
		return reservedChild{}, err
	}
	run.Attempt++
	run.RunID, run.State, run.Error, run.Output = want.RunID, controller.RunPending, "", nil
	want.row.ChildOf, want.row.Attempt = run.RequestID, run.Attempt
	for _, step := range []func() error{
		func() error { return t.saveAttempt(from, run) },
		func() error { return t.queueRun(want.row, due) },
		func() error { return t.point(h.uid, run, false) },
		func() error { return t.tellChild(h.Ref, event, run) },
	} {
		if err := step(); err != nil {
			return reservedChild{}, err
		}
	}
	return reservedChild{run: run, reserved: controller.ChildReserved{
		Started: true, Version: h.version + 1, WorkflowRun: pointer(run),
	}}, nil
}

// saveAttempt stores the first attempt of a request, or the one that follows.
func (t *tx) saveAttempt(from, run controller.ChildRun) error {
	if from.Attempt == 0 {
		return t.newChild(run)
	}
	return t.saveChild(from, run)
}
