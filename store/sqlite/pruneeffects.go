package sqlite

import (
	"context"

	"piworkflows/controller"
)

// maxPruned bounds how many rows one call of a pruning operation touches.
const maxPruned = 10_000

// pruneBatch is how many effects one transaction cuts: others get their turn in
// between.
const pruneBatch = 500

// PruneEffects cuts records of finished effects; see controller.Store. What is to
// be cut is found without the lock that writers wait for.
func (s *Store) PruneEffects(ctx context.Context, p controller.EffectPruning) (int, error) {
	if p.Limit == 0 {
		p.Limit = 1000
	}
	count, err := pageSize("effects to cut", p.Limit, maxPruned)
	if err != nil {
		return 0, err
	}
	found, err := read(ctx, s, "find effects to cut", func(t *tx) ([]int64, error) { return t.cuttable(p, count) })
	if err != nil || p.DryRun {
		return len(found), err
	}
	cut := 0
	for len(found) > 0 {
		batch := found[:min(pruneBatch, len(found))]
		found = found[len(batch):]
		done, err := write(ctx, s, "cut effects", func(t *tx) (int, error) { return t.cutEffects(batch) })
		if err != nil {
			return cut, err
		}
		cut += done
	}
	return cut, nil
}

func (t *tx) cuttable(p controller.EffectPruning, count int) ([]int64, error) {
	var list []int64
	var seq int64
	err := t.each(`SELECT e.seq FROM effects e JOIN resources r ON r.uid = e.resource_uid
		WHERE r.scope = ? AND e.state IN ('applied', 'rejected') AND e.completed_at < ? AND e.token <> ''
		ORDER BY e.seq LIMIT ?`, values(t.scope, p.Before, count), func() error {
		list = append(list, seq)
		return nil
	}, &seq)
	return list, err
}

// cutEffects cuts those that are still there; a final state never changes.
func (t *tx) cutEffects(seqs []int64) (int, error) {
	cut := 0
	for _, seq := range seqs {
		if err := t.exec("DELETE FROM effect_attempts WHERE effect_seq = ?", seq); err != nil {
			return cut, err
		}
		err := t.exec(`UPDATE effects SET kind = '', token = '', error = NULL, owner = NULL, attempts = 0
			WHERE seq = ? AND state IN ('applied', 'rejected') AND token <> ''`, seq)
		if err != nil {
			return cut, err
		}
		cut += int(t.changed())
	}
	return cut, nil
}
