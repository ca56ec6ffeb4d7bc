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
	interruptions, starts_at, error, code, output_json FROM workflow_requests`

func childColumns(r *controller.ChildRun) []any {
	return []any{
		&r.RequestID, &r.ResourceUID, &r.RequestKey, &r.InputFingerprint, &r.Workflow, &r.RunID, (*string)(&r.State),
		&r.Attempt, &r.Interruptions, &r.StartsAt, &r.Error, &r.Code, &r.Output,
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
		_, uid, err := t.identify(ref)
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

// newChild inserts a record.
func (t *tx) newChild(r controller.ChildRun) error {
	return t.exec(`INSERT INTO workflow_requests (request_id, resource_uid, request_key, input_fingerprint, workflow,
			run_id, state, attempt, interruptions, starts_at, error, code, output_json)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.RequestID, r.ResourceUID, r.RequestKey, r.InputFingerprint, r.Workflow, r.RunID, string(r.State), r.Attempt,
		r.Interruptions, orNever(r.StartsAt), orNull(r.Error), orNull(r.Code), r.Output)
}

// saveChild brings a record from one attempt and state to another, if it still is
// in that state.
func (t *tx) saveChild(from, r controller.ChildRun) error {
	err := t.exec(`UPDATE workflow_requests SET run_id = ?, state = ?, attempt = ?, interruptions = ?, starts_at = ?,
			error = ?, code = ?, output_json = ?
		WHERE request_id = ? AND run_id = ? AND attempt = ? AND state = ?`,
		r.RunID, string(r.State), r.Attempt, r.Interruptions, orNever(r.StartsAt), orNull(r.Error), orNull(r.Code), r.Output,
		from.RequestID, from.RunID, from.Attempt, string(from.State))
	if err == nil && t.changed() != 1 {
		err = fmt.Errorf("child request %s is not %s in attempt %d any more", from.RequestID, from.State, from.Attempt)
	}
	return err
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

// pointer is what the resource shows of its current child; nil without one.
func (r *record) pointer() (run *controller.WorkflowRun, err error) {
	if r.run == nil {
		return nil, nil //nolint:nilnil // that there is none is no error
	}
	if err := json.Unmarshal(r.run, &run); err != nil {
		return nil, fmt.Errorf("read status.workflowRun of %s: %w", r.Ref, err)
	}
	return run, nil
}

// shows reports whether the resource points to the request, in whatever state.
func (r *record) shows(requestID string) (bool, error) {
	run, err := r.pointer()
	return run != nil && run.RequestID == requestID, err
}

// point lets the resource show a child. Passes must have seen only its end: see
// guard_version in the schema.
func (t *tx) point(uid string, run controller.ChildRun, ended bool) error {
	text, err := canonical.Marshal(pointer(run))
	if err != nil {
		return err
	}
	return t.exec(`UPDATE resources SET workflow_run_json = ?, resource_version = resource_version + 1,
			guard_version = iif(?, resource_version + 1, guard_version), updated_at = ?
		WHERE uid = ?`, text, ended, t.now, uid)
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
		Code       string              `json:"code,omitempty"`
	}{r.RequestID, r.RequestKey, r.Workflow, r.State, r.Attempt, r.RunID, r.Error, r.Code})
}
