package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/limit"
)

// Freeze keeps effects from being applied; see controller.Store.
func (s *Store) Freeze(ctx context.Context, actor, reason string) (bool, error) {
	reason = limit.Text(reason, controller.MaxMessage)
	return write(ctx, s, "freeze", func(t *tx) (bool, error) {
		text, err := canonical.Marshal(controller.Suspension{At: t.now, Actor: actor, Reason: reason})
		if err != nil {
			return false, err
		}
		err = t.exec("INSERT INTO freezes VALUES (?, ?) ON CONFLICT DO NOTHING", t.scope, text)
		if err != nil || t.changed() == 0 {
			return false, err
		}
		return true, t.tell(controller.Ref{}, controller.EventFrozen, actorPayload{actor, reason})
	})
}

// Unfreeze lets effects be applied again and wakes the resources that have one
// to apply; see controller.Store.
func (s *Store) Unfreeze(ctx context.Context, actor, reason string) (bool, error) {
	reason = limit.Text(reason, controller.MaxMessage)
	return write(ctx, s, "unfreeze", func(t *tx) (bool, error) {
		if err := t.exec("DELETE FROM freezes WHERE scope = ?", t.scope); err != nil || t.changed() == 0 {
			return false, err
		}
		if err := t.tell(controller.Ref{}, controller.EventUnfrozen, actorPayload{actor, reason}); err != nil {
			return false, err
		}
		return true, t.wakeUnfinished()
	})
}

// wakeUnfinished wakes the resources that have an effect to bring to its end.
func (t *tx) wakeUnfinished() error {
	var waiting []controller.Ref
	var ref controller.Ref
	err := t.each(`SELECT DISTINCT r.controller, r.resource_key FROM effects e
		JOIN resources r ON r.id = e.resource_id
		WHERE r.scope = ? AND e.state IN ('pending', 'indeterminate')`, values(t.scope), func() error {
		waiting = append(waiting, ref)
		return nil
	}, &ref.Controller, &ref.Key)
	for _, ref := range waiting {
		if err == nil {
			_, err = t.wake(ref, controller.LaneRequest)
		}
	}
	return err
}

// Frozen tells why no effect is applied; see controller.Store.
func (s *Store) Frozen(ctx context.Context) (*controller.Suspension, error) {
	return read(ctx, s, "read freeze", func(t *tx) (*controller.Suspension, error) { return t.frozen() })
}

const freezeQuery = "SELECT freeze_json FROM freezes WHERE scope = ?"

func (t *tx) frozen() (*controller.Suspension, error) {
	var text json.RawMessage
	_, err := t.first(freezeQuery, values(t.scope), &text)
	if err != nil || text == nil {
		return nil, err
	}
	return decodeFreeze(text)
}

func decodeFreeze(text json.RawMessage) (*controller.Suspension, error) {
	f := &controller.Suspension{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("read why the project is frozen: its row is damaged: %w", err)
	}
	return f, nil
}

// CheckApply looks once more before an effect is applied; see controller.Store.
func (s *Store) CheckApply(ctx context.Context, c *controller.Claim) error {
	text, err := read(ctx, s, "check claim", func(t *tx) (freeze json.RawMessage, err error) {
		var h hold
		found, err := t.first("SELECT "+holdColumns+", ("+freezeQuery+") FROM "+holdTables+holdWhere,
			values(t.scope, rowOf(c.Token), t.scope), append(h.columns(), &freeze)...)
		if err != nil {
			return nil, err
		}
		return freeze, h.check(c, found, t.now)
	})
	if err != nil || text == nil {
		return err
	}
	f, err := decodeFreeze(text)
	if err != nil {
		return err
	}
	return &controller.FrozenError{Freeze: *f}
}
