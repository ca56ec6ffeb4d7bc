package sqlite

import (
	"context"

	"piworkflows/controller"
)

// PruneEffects cuts records of finished effects; see controller.Store.
func (s *Store) PruneEffects(ctx context.Context, p controller.EffectPruning) (int, error) {
	count, err := pruneSize("effects to cut", p.Limit)
	if err != nil {
		return 0, err
	}
	found, err := read(ctx, s, "find effects to cut", func(t *tx) ([]int64, error) { return t.cuttable(p, count) })
	if err != nil || p.DryRun {
		return len(found), err
	}
	return inBatches(ctx, s, "cut effects", found, (*tx).cutEffect)
}

func (t *tx) cuttable(p controller.EffectPruning, count int) ([]int64, error) {
	var list []int64
	var seq int64
	err := t.each(`SELECT e.seq FROM effects e JOIN resources r ON r.id = e.resource_id
		WHERE r.scope = ? AND e.state IN ('applied', 'rejected') AND e.completed_at < ? AND e.token <> ''
		ORDER BY e.seq LIMIT ?`, values(t.scope, p.Before, count), func() error {
		list = append(list, seq)
		return nil
	}, &seq)
	return list, err
}

// cutEffect cuts a record if it is still there; a final state never changes.
func (t *tx) cutEffect(seq int64) error {
	if err := t.exec("DELETE FROM effect_attempts WHERE effect_seq = ?", seq); err != nil {
		return err
	}
	return t.exec(`UPDATE effects SET kind = '', token = '', error = NULL, owner = NULL, attempts = 0,
			attempt_action = NULL, attempt_at = NULL
		WHERE seq = ? AND state IN ('applied', 'rejected') AND token <> ''`, seq)
}
