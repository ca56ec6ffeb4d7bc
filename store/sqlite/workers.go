package sqlite

import (
	"context"
	"time"

	"piworkflows/lease"
	"piworkflows/runqueue"
)

// ClaimWorkers takes or renews the workers of the project; see runqueue.Store.
func (s *Store) ClaimWorkers(ctx context.Context, token lease.Token, d time.Duration) (runqueue.Workers, error) {
	return write(ctx, s, "claim workers", func(t *tx) (runqueue.Workers, error) {
		// Who lost them to nobody has them still.
		err := t.exec(`INSERT INTO workers (scope, claim_token, claim_owner, claim_expires_at, since) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (scope) DO UPDATE SET claim_token = ?2, claim_owner = ?3, claim_expires_at = ?4,
				since = iif(claim_token = ?2, since, ?5)
			WHERE claim_token = ?2 OR claim_expires_at <= ?5`,
			t.scope, string(token), t.owner, t.now.Add(d), t.now)
		if err != nil {
			return runqueue.Workers{}, err
		}
		return t.workers(token)
	})
}

// workers reads who has them; nobody is the zero Workers.
func (t *tx) workers(token lease.Token) (w runqueue.Workers, err error) {
	var held string
	_, err = t.first(`SELECT w.claim_token, coalesce(o.label, 'an unknown process'), w.since
		FROM workers w LEFT JOIN owners o ON o.instance = w.claim_owner
		WHERE w.scope = ? AND w.claim_expires_at > ?`, values(t.scope, t.now), &held, &w.Holder, &w.Since)
	w.Ours = held != "" && held == string(token)
	return w, err
}

// ReleaseWorkers gives them back; see runqueue.Store.
func (s *Store) ReleaseWorkers(ctx context.Context, token lease.Token) error {
	return s.do(ctx, "release workers", func(t *tx) error {
		return t.exec("DELETE FROM workers WHERE scope = ? AND claim_token = ?", t.scope, string(token))
	})
}

// Workers tells who has them; see runqueue.Store.
func (s *Store) Workers(ctx context.Context) (runqueue.Workers, error) {
	return read(ctx, s, "find workers", func(t *tx) (runqueue.Workers, error) { return t.workers("") })
}

// WaitWorkers waits until nobody has them; see runqueue.Store.
func (s *Store) WaitWorkers(ctx context.Context) error {
	defer s.watch.enter()()
	for {
		committed := s.commit.next()
		held, err := read(ctx, s, "wait for workers", func(t *tx) (o outlook, err error) {
			var owner string
			_, err = t.first("SELECT claim_owner, claim_expires_at FROM workers WHERE scope = ? AND claim_expires_at > ?",
				values(t.scope, t.now), &owner, &o.next)
			if owner != "" && owner != t.owner {
				o.others = []string{owner}
			}
			return o, err
		})
		if err != nil || held.next == nil {
			return err
		}
		if err := s.sleep(ctx, committed, s.wakeUp(ctx, held)); err != nil {
			return err
		}
	}
}
