package sqlite

import (
	"cmp"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// parentGoes is why the children of a resource are cancelled that is to go.
const parentGoes = "its resource is being deleted"

// cancelChildren ends the children of a resource that nobody runs, also those
// that would begin again, and asks for the end of the others.
func (t *tx) cancelChildren(of record) error {
	var open []controller.ChildRun
	var child controller.ChildRun
	err := t.each(childQuery+` WHERE resource_uid = ? AND state IN ('pending', 'running', 'waiting', 'interrupted')
		ORDER BY request_key`, values(of.uid), func() error {
		open = append(open, child)
		return nil
	}, childColumns(&child)...)
	for _, child := range open {
		if err == nil {
			err = t.cancelChild(child)
		}
	}
	return err
}

func (t *tx) cancelChild(child controller.ChildRun) error {
	ended := child.State == controller.RunInterrupted
	if !ended {
		var err error
		if ended, err = t.cancelRun(child.RunID); err != nil {
			return err
		}
	}
	if !ended {
		return nil
	}
	from := child
	child.State, child.Code, child.Error, child.StartsAt = controller.RunFailed, controller.CodeCancelled, parentGoes, nil
	_, err := t.changeChild(from, child)
	return err
}

// cancelRun reports whether the run is over. One that is in the hands of a process
// is left to it: that has to stop what it started. If the process is gone, the next
// host does.
func (t *tx) cancelRun(runID string) (ended bool, err error) {
	err = t.exec(`UPDATE workflow_run_queue SET status = 'cancelled', error = ?, input_json = NULL, updated_at = ?
		WHERE scope = ? AND run_id = ? AND claim_token IS NULL AND status IN ('queued', 'done')`,
		parentGoes, t.now, t.scope, runID)
	if err != nil || t.changed() > 0 {
		return err == nil, err
	}
	return false, t.exec(`UPDATE workflow_run_queue SET cancel_reason = ?, updated_at = ?
		WHERE scope = ? AND run_id = ? AND status IN ('queued', 'running')`, parentGoes, t.now, t.scope, runID)
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
