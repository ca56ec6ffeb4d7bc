package sqlite

import (
	"context"
	"errors"
	"slices"

	"piworkflows/controller"
	"piworkflows/internal/limit"
)

// maxCursor bounds the cursor of a source, and maxDeliveryID the ID of a
// delivery, in characters.
const (
	maxCursor     = 16 << 10
	maxDeliveryID = 1024
)

// Deliver wakes the keys of one delivery; see controller.Store. A key that no
// resource can have counts as unknown: to refuse it would stop its source for
// ever.
func (s *Store) Deliver(ctx context.Context, name string, d controller.Delivery) (controller.DeliveryResult, error) {
	if err := checkDelivery(name, d); err != nil {
		return controller.DeliveryResult{}, err
	}
	d.Keys = slices.Compact(slices.Sorted(slices.Values(d.Keys)))
	return write(ctx, s, "deliver", func(t *tx) (controller.DeliveryResult, error) {
		if again, err := t.seen(name, d); again || err != nil {
			return controller.DeliveryResult{Duplicate: again}, err
		}
		if err := t.moveCursor(name, d); err != nil {
			return controller.DeliveryResult{}, err
		}
		return t.wakeAll(name, d)
	})
}

func checkDelivery(name string, d controller.Delivery) error {
	if err := controller.ValidateController(name); err != nil {
		return err
	}
	if err := controller.ValidateName("source name", d.Source); err != nil {
		return err
	}
	for _, bound := range []controller.LimitError{
		{What: "the list of keys of a delivery", Limit: controller.MaxDeliveryKeys, Size: len(d.Keys), Unit: "keys"},
		{What: "the cursor of a source", Limit: maxCursor, Size: len(d.Cursor), Unit: "bytes"},
		{What: "the ID of a delivery", Limit: maxDeliveryID, Size: len(d.ID), Unit: "bytes"},
	} {
		if bound.Size > bound.Limit {
			return &bound
		}
	}
	return nil
}

// seen remembers a delivery and reports whether it came before.
func (t *tx) seen(name string, d controller.Delivery) (bool, error) {
	if d.ID == "" {
		return false, nil
	}
	err := t.exec("INSERT INTO source_deliveries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		t.scope, name, d.Source, d.ID, t.now)
	return t.changed() == 0, err
}

func (t *tx) moveCursor(name string, d controller.Delivery) error {
	if d.Cursor == "" {
		return nil
	}
	return t.exec("INSERT OR REPLACE INTO source_cursors VALUES (?, ?, ?, ?)", t.scope, name, d.Source, d.Cursor)
}

func (t *tx) wakeAll(name string, d controller.Delivery) (controller.DeliveryResult, error) {
	var result controller.DeliveryResult
	payload := struct {
		Source     string `json:"source"`
		DeliveryID string `json:"deliveryId,omitempty"`
		Note       string `json:"note,omitempty"`
	}{d.Source, d.ID, limit.Text(d.Note, controller.MaxDeliveryNote)}
	for _, key := range d.Keys {
		ref := controller.Ref{Controller: name, Key: key}
		_, err := t.wake(ref, controller.LaneEvent)
		if errors.Is(err, controller.ErrNotFound) {
			result.Unknown++
			continue
		}
		if err != nil {
			return result, err
		}
		if err := t.tell(ref, controller.EventDelivered, payload); err != nil {
			return result, err
		}
		result.Enqueued++
	}
	return result, nil
}

// SourceCursor returns the last cursor of a source; see controller.Store.
func (s *Store) SourceCursor(ctx context.Context, name, source string) (string, error) {
	return read(ctx, s, "read cursor", func(t *tx) (cursor string, err error) {
		_, err = t.first("SELECT cursor FROM source_cursors WHERE scope = ? AND controller = ? AND source = ?",
			values(t.scope, name, source), &cursor)
		return cursor, err
	})
}
