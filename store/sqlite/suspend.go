package sqlite

import (
	"context"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// Suspend keeps a key from being claimed; see controller.Store.
func (s *Store) Suspend(ctx context.Context, ref controller.Ref, actor, reason string) (bool, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return false, err
	}
	reason = limit.Text(reason, controller.MaxMessage)
	return write(ctx, s, "suspend", func(t *tx) (bool, error) {
		r, err := t.existing(ref)
		if err != nil || r.suspension != nil {
			return false, err
		}
		text, err := canonical.Marshal(controller.Suspension{At: t.now, Actor: actor, Reason: reason})
		if err != nil {
			return false, err
		}
		if err := t.exec("UPDATE resources SET suspension_json = ? WHERE uid = ?", text, r.uid); err != nil {
			return false, err
		}
		if err := t.hold(r.id, true); err != nil {
			return false, err
		}
		return true, t.tell(ref, controller.EventSuspended, actorPayload{actor, reason})
	})
}

// Unsuspend lifts a suspension and wakes the key; see controller.Store.
func (s *Store) Unsuspend(ctx context.Context, ref controller.Ref, actor, reason string) (bool, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return false, err
	}
	reason = limit.Text(reason, controller.MaxMessage)
	return write(ctx, s, "unsuspend", func(t *tx) (bool, error) {
		r, err := t.existing(ref)
		if err != nil || r.suspension == nil {
			return false, err
		}
		if err := t.exec("UPDATE resources SET suspension_json = NULL WHERE uid = ?", r.uid); err != nil {
			return false, err
		}
		if err := t.hold(r.id, false); err != nil {
			return false, err
		}
		if _, err := t.wake(ref, controller.LaneRequest); err != nil {
			return false, err
		}
		return true, t.tell(ref, controller.EventUnsuspended, actorPayload{actor, reason})
	})
}

// hold takes the row of a key, if there is one, out of the reach of claims, or
// puts it back. A pass that runs goes on.
func (t *tx) hold(id int64, held bool) error {
	return t.exec("UPDATE queue SET held = ? WHERE resource_id = ?", held, id)
}
