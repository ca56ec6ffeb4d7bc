package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
)

// record is a resource as its columns hold it: JSON is text, so that a write is
// compared and stored without being decoded.
type record struct {
	controller.Ref
	// id is the number of the row, line that of the controller.
	id, line int64
	uid      string
	// version is the resource version, guard the one that a pass must have seen.
	version, guard, generation int64
	spec                       json.RawMessage
	observed                   int64
	conditions, run, status    json.RawMessage
	deletion                   *time.Time
	finalizers                 json.RawMessage
	attention
}

// emptyList is the JSON of no conditions and of no finalizers.
const emptyList = "[]"

const recordColumns = `r.id, r.controller_id, r.controller, r.resource_key, r.uid, r.resource_version, r.guard_version, r.generation,
	r.spec_json, r.observed_generation, r.conditions_json, r.workflow_run_json, r.controller_status_json,
	r.deletion_timestamp, r.finalizers_json, ` + attentionColumns

func (r *record) columns() []any {
	return append([]any{
		&r.id, &r.line, &r.Controller, &r.Key, &r.uid, &r.version, &r.guard, &r.generation,
		&r.spec, &r.observed, &r.conditions, &r.run, &r.status, &r.deletion, &r.finalizers,
	}, r.attention.columns()...)
}

// record reads a resource and reports whether it exists.
func (t *tx) record(ref controller.Ref) (r record, found bool, err error) {
	found, err = t.first("SELECT "+recordColumns+` FROM resources r
		WHERE r.scope = ? AND r.controller = ? AND r.resource_key = ?`,
		values(t.scope, ref.Controller, ref.Key), r.columns()...)
	return r, found, err
}

// existing is record for callers that need one.
func (t *tx) existing(ref controller.Ref) (record, error) {
	r, found, err := t.record(ref)
	if err == nil && !found {
		err = &controller.NotFoundError{Ref: ref}
	}
	return r, err
}

// identify finds the row and the UID of a resource.
func (t *tx) identify(ref controller.Ref) (id int64, uid string, err error) {
	found, err := t.first("SELECT id, uid FROM resources WHERE scope = ? AND controller = ? AND resource_key = ?",
		values(t.scope, ref.Controller, ref.Key), &id, &uid)
	if err == nil && !found {
		err = &controller.NotFoundError{Ref: ref}
	}
	return id, uid, err
}

// newRecord is a resource that nobody has looked at yet.
func newRecord(ref controller.Ref, spec, status json.RawMessage) record {
	return record{
		Ref: ref, uid: newUID(), version: 1, guard: 1, generation: 1, spec: spec, status: status,
		conditions: json.RawMessage(emptyList), finalizers: json.RawMessage(emptyList),
	}
}

// newUID returns an identifier that was never used; later ones sort later.
func newUID() string { return uuid.Must(uuid.NewV7()).String() }

func (t *tx) insert(r record) error {
	return t.exec(`INSERT INTO resources (controller_id, scope, controller, resource_key, uid, resource_version,
			guard_version, generation, wake, handled, spec_json, observed_generation, conditions_json,
			controller_status_json, finalizers_json, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)`,
		r.line, t.scope, r.Controller, r.Key, r.uid, r.version, r.guard, r.generation, r.wake, r.spec, r.observed,
		r.conditions, r.status, r.finalizers, t.now, t.now)
}

// decode makes the resource of its columns.
func (r *record) decode() (controller.Raw, error) {
	raw := controller.Raw{
		Metadata: controller.Metadata{
			UID: r.uid, Controller: r.Controller, Key: r.Key,
			ResourceVersion: r.version, Generation: r.generation, DeletionTimestamp: r.deletion,
		},
		Spec:   r.spec,
		Status: controller.Status[json.RawMessage]{ObservedGeneration: r.observed, ControllerStatus: r.status},
	}
	err := errors.Join(
		decodeList(r.conditions, &raw.Status.Conditions), decodeList(r.finalizers, &raw.Metadata.Finalizers))
	if err == nil && r.run != nil {
		err = json.Unmarshal(r.run, &raw.Status.WorkflowRun)
	}
	if err != nil {
		return controller.Raw{}, fmt.Errorf("read resource %s: its row is damaged: %w", r.Ref, err)
	}
	return raw, nil
}

// decodeList reads what encodeList writes. Most lists are empty.
func decodeList[T any](text json.RawMessage, list *[]T) error {
	if string(text) == emptyList {
		*list = []T{}
		return nil
	}
	return json.Unmarshal(text, list) //nolint:wrapcheck // decode says what of
}

// statusSize is the size of the status as JSON, as good as exactly.
func (r *record) statusSize() int {
	const names = len(`{"observedGeneration":,"conditions":,"workflowRun":,"controllerStatus":}`)
	return names + len(r.conditions) + len(r.run) + len(r.status)
}

// encodeList is the JSON of a list, empty instead of null.
func encodeList[T any](list []T) (json.RawMessage, error) {
	if len(list) == 0 {
		return json.RawMessage(emptyList), nil
	}
	return canonical.Marshal(list)
}
