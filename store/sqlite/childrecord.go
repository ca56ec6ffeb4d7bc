package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
)

const childQuery = `SELECT request_id, resource_uid, request_key, input_fingerprint, workflow, run_id, state, attempt,
	error, output_json FROM workflow_requests`

func childColumns(r *controller.ChildRun) []any {
	return []any{
		&r.RequestID, &r.ResourceUID, &r.RequestKey, &r.InputFingerprint, &r.Workflow, &r.RunID, (*string)(&r.State),
		&r.Attempt, &r.Error, &r.Output,
	}
}

// child reads the one record that a condition names.
func (t *tx) child(where string, args ...any) (run controller.ChildRun, found bool, err error) {
	found, err = t.first(childQuery+" WHERE "+where, args, childColumns(&run)...)
	return run, found, err
}

// Children returns the child requests of a resource; see controller.Store.
func (s *Store) Children(ctx context.Context, ref controller.Ref) ([]controller.ChildRun, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return nil, err
	}
	return read(ctx, s, "read children", func(t *tx) ([]controller.ChildRun, error) {
		uid, err := t.uid(ref)
		if err != nil {
			return nil, err
		}
		var list []controller.ChildRun
		var run controller.ChildRun
		err = t.each(childQuery+" WHERE resource_uid = ? ORDER BY seq", values(uid), func() error {
			list = append(list, run)
			return nil
		}, childColumns(&run)...)
		return list, err
	})
}

// saveChild inserts a record or brings it to its present attempt and state.
func (t *tx) saveChild(r controller.ChildRun) error {
	return t.exec(`INSERT INTO workflow_requests (request_id, resource_uid, request_key, input_fingerprint, workflow,
			run_id, state, attempt, error, output_json)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (request_id) DO UPDATE SET run_id = excluded.run_id, state = excluded.state,
			attempt = excluded.attempt, error = excluded.error, output_json = excluded.output_json`,
		r.RequestID, r.ResourceUID, r.RequestKey, r.InputFingerprint, r.Workflow,
		r.RunID, string(r.State), r.Attempt, orNull(r.Error), r.Output)
}

// pointer is what a resource shows of its current child.
func pointer(r controller.ChildRun) *controller.WorkflowRun {
	return &controller.WorkflowRun{RequestID: r.RequestID, RunID: r.RunID, State: r.State, Attempt: r.Attempt}
}

// pointsAt reports whether the resource shows the child as it is.
func (r *record) pointsAt(run controller.ChildRun) (bool, error) {
	text, err := canonical.Marshal(pointer(run))
	return bytes.Equal(text, r.run), err
}

// shows reports whether the resource points to the request, in whatever state.
func (r *record) shows(requestID string) (bool, error) {
	if r.run == nil {
		return false, nil
	}
	var run controller.WorkflowRun
	if err := json.Unmarshal(r.run, &run); err != nil {
		return false, fmt.Errorf("read status.workflowRun of %s: %w", r.Ref, err)
	}
	return run.RequestID == requestID, nil
}

// point lets the resource show a child. Passes need not have seen it: see
// guard_version in the schema.
func (t *tx) point(uid string, run controller.ChildRun) error {
	text, err := canonical.Marshal(pointer(run))
	if err != nil {
		return err
	}
	return t.exec(`UPDATE resources SET workflow_run_json = ?, resource_version = resource_version + 1, updated_at = ?
		WHERE uid = ?`, text, t.now, uid)
}

func (t *tx) tellChild(ref controller.Ref, kind controller.EventType, r controller.ChildRun) error {
	return t.tell(ref, kind, struct {
		RequestID  string              `json:"requestId"`
		RequestKey string              `json:"requestKey"`
		Workflow   string              `json:"workflow"`
		State      controller.RunState `json:"state"`
		Attempt    int                 `json:"attempt"`
		RunID      string              `json:"runId"`
		Error      string              `json:"error,omitempty"`
	}{r.RequestID, r.RequestKey, r.Workflow, r.State, r.Attempt, r.RunID, r.Error})
}
