package sqlite

import (
	"context"
	"fmt"
	"os"

	"piworkflows/controller"
	"piworkflows/internal/oslock"
)

// Claimant implements controller.ClaimInspector. An owner whose lock file is
// missing cannot be judged, so it counts as alive; a claim that has expired is
// none.
func (s *Store) Claimant(ctx context.Context, ref controller.Ref) (*controller.Claimant, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return nil, err
	}
	c, err := read(ctx, s, "find claimant", func(t *tx) (*controller.Claimant, error) {
		var c controller.Claimant
		found, err := t.first(`SELECT q.claim_owner, q.claim_expires_at, coalesce(o.label, 'unknown process')
			FROM resources r JOIN queue q ON q.resource_id = r.id
			LEFT JOIN owners o ON o.instance = q.claim_owner
			WHERE r.scope = ? AND r.controller = ? AND r.resource_key = ? AND q.claim_expires_at > ?`,
			values(t.scope, ref.Controller, ref.Key, t.now), &c.Instance, &c.Until, &c.Label)
		if err != nil || !found {
			return nil, err
		}
		return &c, nil
	})
	if c == nil || err != nil {
		return nil, err
	}
	c.Dead, err = s.dead(c.Instance)
	return c, err
}

// dead reports whether nobody holds the lock of an owner that has one.
func (s *Store) dead(instance string) (bool, error) {
	path := s.ownerFile(instance)
	if _, err := os.Stat(path); err != nil {
		return false, nil //nolint:nilerr // what cannot be judged is left to its lease
	}
	held, err := oslock.Held(path)
	if err != nil {
		return false, fmt.Errorf("find claimant: %w", err)
	}
	return !held, nil
}

var _ controller.ClaimInspector = (*Store)(nil)
