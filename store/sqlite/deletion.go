package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"piworkflows/controller"
	"piworkflows/internal/limit"
)

// RequestDeletion requests that a resource goes; see controller.Store. A second
// request wakes the key once more, and removes the resource if nothing holds it
// any longer.
func (s *Store) RequestDeletion(ctx context.Context, d controller.Deletion) (controller.DeletionResult, error) {
	if err := d.Check(); err != nil {
		return controller.DeletionResult{}, err
	}
	d.Reason = limit.Text(d.Reason, controller.MaxMessage)
	deleted := false
	r, err := write(ctx, s, "delete resource", func(t *tx) (r record, err error) {
		r, deleted, err = t.requestDeletion(d)
		return r, err
	})
	if err != nil {
		return controller.DeletionResult{}, err
	}
	raw, err := r.decode()
	return controller.DeletionResult{Deleted: deleted, Resource: raw}, err
}

func (t *tx) requestDeletion(d controller.Deletion) (r record, deleted bool, err error) {
	if r, err = t.existing(d.Ref); err != nil {
		return r, false, err
	}
	if err := expect(d.Ref, d.Expect, r.version); err != nil {
		return r, false, err
	}
	if r.deletion == nil {
		if err := t.markDeleted(&r, d.Actor); err != nil {
			return r, false, err
		}
	}
	if d.ForceFinalizer != "" {
		if err := t.forceFinalizer(&r, d); err != nil {
			return r, false, err
		}
	}
	if deleted, err = t.removeIfDue(r); deleted || err != nil {
		return r, deleted, err
	}
	_, err = t.wake(d.Ref, controller.LaneRequest)
	return r, false, err
}

// goOrWake tells a resource that something of it has ended: it goes if that was
// the last thing to hold its deletion, and is woken otherwise.
func (t *tx) goOrWake(ref controller.Ref, lane controller.Lane) error {
	r, err := t.existing(ref)
	if err != nil {
		return err
	}
	if gone, err := t.removeIfDue(r); gone || err != nil {
		return err
	}
	_, err = t.wake(ref, lane)
	return err
}

// removeIfDue removes a resource that is to go and that neither a pass nor
// anything else holds.
func (t *tx) removeIfDue(r record) (bool, error) {
	due, err := t.deletable(r)
	if err != nil || !due {
		return false, err
	}
	claimed, err := t.claimed(r.Ref)
	if err != nil || claimed {
		return false, err
	}
	return true, t.remove(r)
}

func (t *tx) markDeleted(r *record, actor string) error {
	r.version++
	r.guard = r.version
	r.deletion = &t.now
	err := t.exec(`UPDATE resources SET deletion_timestamp = ?, resource_version = ?, guard_version = ?, updated_at = ?
		WHERE uid = ?`, t.now, r.version, r.guard, t.now, r.uid)
	if err != nil {
		return err
	}
	if err := t.tell(r.Ref, controller.EventDeletionRequested, actorPayload{Actor: actor}); err != nil {
		return err
	}
	if err := t.cancelChildren(*r, parentGoes); err != nil {
		return err
	}
	*r, err = t.existing(r.Ref) // which may show a child that ended
	return err
}

// forceFinalizer takes a finalizer away without its controller. An effect of which
// nobody knows how it ended is to be looked at by a person first.
func (t *tx) forceFinalizer(r *record, d controller.Deletion) error {
	var held []string
	if err := json.Unmarshal(r.finalizers, &held); err != nil {
		return fmt.Errorf("read finalizers of %s: %w", r.Ref, err)
	}
	i := slices.Index(held, d.ForceFinalizer)
	if i < 0 {
		return &controller.FinalizerNotFoundError{Ref: r.Ref, Finalizer: d.ForceFinalizer, Present: held}
	}
	open, err := t.names(`SELECT effect_key FROM effects
		WHERE resource_id = ? AND state IN ('pending', 'indeterminate') ORDER BY seq`, r.id)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return &controller.UnfinishedEffectsError{Ref: r.Ref, Effects: open}
	}
	if r.finalizers, err = encodeList(slices.Delete(held, i, i+1)); err != nil {
		return err
	}
	r.version++
	r.guard = r.version
	err = t.exec(`UPDATE resources SET finalizers_json = ?, resource_version = ?, guard_version = ?, updated_at = ?
		WHERE uid = ?`, r.finalizers, r.version, r.guard, t.now, r.uid)
	if err != nil {
		return err
	}
	return t.tell(r.Ref, controller.EventFinalizerForced, struct {
		Finalizer string `json:"finalizer"`
		actorPayload
	}{d.ForceFinalizer, actorPayload{d.Actor, d.Reason}})
}

// claimed reports whether a pass works on a key now.
func (t *tx) claimed(ref controller.Ref) (bool, error) {
	return t.first(`SELECT 1 FROM queue WHERE claim_expires_at > ? AND resource_id =
			(SELECT id FROM resources WHERE scope = ? AND controller = ? AND resource_key = ?)`,
		values(t.now, t.scope, ref.Controller, ref.Key))
}

// deletable reports whether deletion was requested and nothing holds it back:
// no finalizer, no effect of which nobody knows how it ended, no child that is
// queued or running. A child that waits for an answer holds nothing: its
// continuation is another run.
func (t *tx) deletable(r record) (bool, error) {
	if r.deletion == nil || string(r.finalizers) != emptyList {
		return false, nil
	}
	unfinished, err := t.unfinishedEffects(r.id)
	if unfinished || err != nil {
		return false, err
	}
	running, err := t.first(
		"SELECT 1 FROM workflow_requests WHERE resource_uid = ? AND state IN ('pending', 'running')", values(r.uid))
	return !running, err
}

// remove deletes a resource with all that hangs on it.
func (t *tx) remove(r record) error {
	if err := t.exec("DELETE FROM resources WHERE uid = ?", r.uid); err != nil {
		return err
	}
	return t.tell(r.Ref, controller.EventDeleted, struct {
		UID string `json:"uid"`
	}{r.uid})
}
