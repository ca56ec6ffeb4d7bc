package sqlite

import (
	"context"

	"piworkflows/controller"
)

// rebuildBatch bounds the keys of one transaction of a rebuild, so that others
// get their turn in between.
const rebuildBatch = 500

// RebuildQueue makes the queue anew from the resources; see controller.Store.
func (s *Store) RebuildQueue(ctx context.Context) (int, error) {
	count := 0
	var after controller.Ref
	for {
		batch, err := write(ctx, s, "rebuild queue", func(t *tx) ([]controller.Ref, error) { return t.rebuild(after) })
		if err != nil || len(batch) == 0 {
			return count, err
		}
		count += len(batch)
		after = batch[len(batch)-1]
	}
}

// rebuild wakes the keys after a reference that come next, each with a new row
// unless a pass works on it.
func (t *tx) rebuild(after controller.Ref) ([]controller.Ref, error) {
	var batch []controller.Ref
	var ref controller.Ref
	err := t.each(`SELECT controller, resource_key FROM resources
		WHERE scope = ? AND (controller, resource_key) > (?, ?) ORDER BY controller, resource_key LIMIT ?`,
		values(t.scope, after.Controller, after.Key, rebuildBatch), func() error {
			batch = append(batch, ref)
			return nil
		}, &ref.Controller, &ref.Key)
	if err != nil {
		return nil, err
	}
	for _, ref := range batch {
		if err := t.dequeue(ref); err != nil {
			return nil, err
		}
		if _, err := t.wake(ref, controller.LaneBackground); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// dequeue throws the row of a key away unless a pass works on it.
func (t *tx) dequeue(ref controller.Ref) error {
	k, err := t.sleeper(ref)
	if err != nil || !k.queued {
		return err
	}
	return t.exec("DELETE FROM queue WHERE resource_id = ? AND claim_token IS NULL", k.id)
}
