package sqlite

import (
	"cmp"
	"context"
	"slices"

	"piworkflows/controller"
	"piworkflows/internal/limit"
	"piworkflows/runqueue"
)

// parentGoes is why the children of a resource are cancelled that is to go.
const parentGoes = "its resource is being deleted"

// CancelChildren ends children that are not wanted any more; see controller.Store.
func (s *Store) CancelChildren(
	ctx context.Context, c *controller.Claim, r controller.ChildCancellation,
) (controller.ChildrenCancelled, error) {
	r.Reason = limit.Text(r.Reason, controller.MaxError)
	return write(ctx, s, "cancel children", func(t *tx) (controller.ChildrenCancelled, error) { return t.cancelOthers(c, r) })
}

func (t *tx) cancelOthers(c *controller.Claim, r controller.ChildCancellation) (controller.ChildrenCancelled, error) {
	h, err := t.live(c)
	if err != nil {
		return controller.ChildrenCancelled{}, err
	}
	others, err := t.openChildren(h.uid, r.Keep)
	if err != nil {
		return controller.ChildrenCancelled{}, err
	}
	done := controller.ChildrenCancelled{Children: others, Version: r.Version}
	if slices.ContainsFunc(others, uncancelled) {
		if !h.current(r.Version) {
			return done, &controller.ConflictError{Ref: h.Ref, Expected: r.Version, Current: h.version}
		}
		if err := t.cancelEach(h.Ref, others, r.Reason); err != nil {
			return done, err
		}
		if h.record, err = t.existing(h.Ref); err != nil {
			return done, err
		}
		done.Version = h.version
	}
	done.WorkflowRun, err = h.pointer()
	return done, err
}

// cancelChildren cancels all children of a resource.
func (t *tx) cancelChildren(of record, reason string) error {
	open, err := t.openChildren(of.uid, "")
	if err != nil {
		return err
	}
	return t.cancelEach(of.Ref, open, reason)
}

// openChildren reads the requests of a resource that have not ended, also those
// that would begin again, but for the one with the key keep.
func (t *tx) openChildren(uid, keep string) (open []controller.ChildRun, err error) {
	var child controller.ChildRun
	err = t.each(childQuery+` WHERE resource_uid = ? AND request_key <> ?
			AND state IN ('pending', 'running', 'waiting', 'interrupted')
		ORDER BY request_key`, values(uid, keep), func() error {
		open = append(open, child)
		return nil
	}, childColumns(&child)...)
	return open, err
}

// uncancelled reports whether nobody has told the child to end yet.
func uncancelled(child controller.ChildRun) bool { return child.Code != controller.CodeCancelling }

// cancelEach ends those of the children that nobody runs, asks for the end of the
// others, once, and leaves in the list how they are then.
func (t *tx) cancelEach(of controller.Ref, children []controller.ChildRun, reason string) error {
	for i, child := range children {
		if !uncancelled(child) {
			continue
		}
		var err error
		if children[i], err = t.cancelChild(of, child, reason); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) cancelChild(of controller.Ref, from controller.ChildRun, reason string) (controller.ChildRun, error) {
	child := from
	child.Error = reason
	ended := child.State == controller.RunInterrupted
	if !ended {
		var err error
		if ended, err = t.cancelRun(child.RunID, reason); err != nil {
			return child, err
		}
	}
	if !ended {
		child.Code, child.StartsAt = controller.CodeCancelling, nil // the resource does not show it: its version stays
		if err := t.saveChild(from, child); err != nil {
			return child, err
		}
		return child, t.tellChild(of, controller.EventWorkflowStateChanged, child)
	}
	child.State, child.Code, child.StartsAt = controller.RunFailed, controller.CodeCancelled, nil
	_, err := t.changeChild(from, child)
	return child, err
}

// cancelRun reports whether the run is over. One that is in the hands of a process
// is left to it: that has to stop what it started. If the process is gone, the next
// host does.
func (t *tx) cancelRun(runID, reason string) (ended bool, err error) {
	err = t.exec(`UPDATE workflow_run_queue SET status = 'cancelled', error = ?, input_json = NULL, updated_at = ?
		WHERE scope = ? AND run_id = ? AND claim_token IS NULL AND status IN ('queued', 'done')`,
		reason, t.now, t.scope, runID)
	if err != nil || t.changed() > 0 {
		return err == nil, err
	}
	return false, t.exec(`UPDATE workflow_run_queue SET cancel_reason = ?, updated_at = ?
		WHERE scope = ? AND run_id = ? AND status IN ('queued', 'running')`, reason, t.now, t.scope, runID)
}

// cancelled turns the end of a run that was to be cancelled, and did not succeed
// before, into the end of its request: no attempt follows, and no answer.
func cancelled(row runqueue.Row, child *controller.ChildRun) bool {
	if row.CancelReason == "" || child.State == controller.RunSucceeded {
		return false
	}
	child.State, child.Code = controller.RunFailed, controller.CodeCancelled
	child.Error = cmp.Or(child.Error, row.CancelReason)
	return true
}
