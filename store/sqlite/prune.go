package sqlite

import "context"

const (
	// maxPruned bounds how many rows one call of a pruning operation touches.
	maxPruned = 10_000
	// defaultPruned is the bound if the caller gives none.
	defaultPruned = 1000
	// pruneBatch is how many rows one transaction touches: others get their turn
	// in between.
	pruneBatch = 500
)

// pruneSize checks the bound of a call.
func pruneSize(what string, asked int) (int, error) {
	if asked == 0 {
		return defaultPruned, nil
	}
	return pageSize(what, asked, maxPruned)
}

// inBatches does something with each of what was found, without the lock that
// writers wait for, and counts the rows that it changed.
func inBatches[T any](ctx context.Context, s *Store, op string, found []T, do func(*tx, T) error) (int, error) {
	changed := 0
	for len(found) > 0 {
		batch := found[:min(pruneBatch, len(found))]
		found = found[len(batch):]
		n, err := write(ctx, s, op, func(t *tx) (n int, err error) {
			for _, item := range batch {
				if err := do(t, item); err != nil {
					return n, err
				}
				n += int(t.changed())
			}
			return n, nil
		})
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}
