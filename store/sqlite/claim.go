package sqlite

import (
	"context"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
)

// Claim takes the key that is due the longest; see controller.Store.
func (s *Store) Claim(ctx context.Context, controllers []string, d time.Duration) (*controller.Claim, error) {
	// A look that takes no lock first: an idle process disturbs nobody.
	at, err := read(ctx, s, "look for work", func(t *tx) (*time.Time, error) { return t.nextDue(controllers) })
	if err != nil || !isDue(at, milliseconds(s.o.Clock)) {
		return nil, err
	}
	taken, err := write(ctx, s, "claim", func(t *tx) (*claimed, error) { return t.claim(controllers, d) })
	if err != nil || taken == nil {
		return nil, err
	}
	return taken.decode()
}

// claimed is what a claim took.
type claimed struct {
	record
	token           lease.Token
	errors, retries int
}

func (c *claimed) decode() (*controller.Claim, error) {
	raw, err := c.record.decode()
	if err != nil {
		return nil, err
	}
	return &controller.Claim{
		Ref: c.Ref, Token: c.token, Wake: c.wake, ConsecutiveErrors: c.errors, Retries: c.retries, Resource: raw,
	}, nil
}

// isDue reports whether a moment has come; nil never does.
func isDue(at *time.Time, now time.Time) bool { return at != nil && !at.After(now) }

// freeQuery finds the free row of a lane that is due first, expiryQuery the claim
// that expires first. Both are one step into an index.
const (
	freeQuery = `SELECT available_at, resource_key FROM queue
		WHERE scope = ? AND controller = ? AND lane = ? AND claim_token IS NULL AND held = 0
		ORDER BY available_at, resource_key LIMIT 1`
	expiryQuery = `SELECT claim_expires_at FROM queue
		WHERE scope = ? AND controller = ? AND claim_token IS NOT NULL ORDER BY claim_expires_at LIMIT 1`
)

// nextDue returns when a key of the named controllers becomes claimable; nil is
// not without another wake-up.
func (t *tx) nextDue(controllers []string) (*time.Time, error) {
	var next *time.Time
	for _, name := range controllers {
		for _, lane := range controller.Lanes() {
			free, _, err := t.firstFree(name, lane)
			if err != nil {
				return nil, err
			}
			next = earlier(next, free)
		}
		expiry, err := t.firstExpiry(name)
		if err != nil {
			return nil, err
		}
		next = earlier(next, expiry)
	}
	return next, nil
}

func (t *tx) firstFree(name string, lane controller.Lane) (at *time.Time, key string, err error) {
	_, err = t.first(freeQuery, values(t.scope, name, int(lane)), &at, &key)
	return at, key, err
}

func (t *tx) firstExpiry(name string) (at *time.Time, err error) {
	_, err = t.first(expiryQuery, values(t.scope, name), &at)
	return at, err
}

func (t *tx) claim(controllers []string, d time.Duration) (*claimed, error) {
	var best candidate
	for _, name := range controllers {
		if err := t.expire(name); err != nil {
			return nil, err
		}
		for _, lane := range controller.Lanes() {
			at, key, err := t.firstFree(name, lane)
			if err != nil {
				return nil, err
			}
			if isDue(at, t.now) {
				best = best.orEarlier(candidate{turn: at.Add(lane.Offset()), ref: controller.Ref{Controller: name, Key: key}})
			}
		}
	}
	if best.turn.IsZero() {
		return nil, nil //nolint:nilnil // nothing to claim is no error
	}
	return t.take(best.ref, d)
}

// candidate is a key that may be claimed. Its turn is when it became due, later
// by the offset of its lane: that is how long a key of a slower lane can wait
// behind those of the faster ones.
type candidate struct {
	turn time.Time
	ref  controller.Ref
}

func (c candidate) orEarlier(other candidate) candidate {
	if c.turn.IsZero() || other.turn.Before(c.turn) {
		return other
	}
	return c
}

// expire frees the claims of a controller that have run out. It counts as an
// error of the key: a pass that never ends must not look like the first one.
func (t *tx) expire(name string) error {
	return t.exec(`UPDATE queue SET consecutive_errors = consecutive_errors + 1, last_error = ?,
			claim_token = NULL, claim_wake = NULL, claim_owner = NULL, claim_expires_at = NULL
		WHERE scope = ? AND controller = ? AND claim_token IS NOT NULL AND claim_expires_at <= ?`,
		"its claim expired during a pass", t.scope, name, t.now)
}

func (t *tx) take(ref controller.Ref, d time.Duration) (*claimed, error) {
	c := &claimed{token: lease.NewToken()}
	var err error
	if c.record, err = t.existing(ref); err != nil {
		return nil, err
	}
	_, err = t.first(`UPDATE queue
		SET claim_token = ?, claim_wake = ?, claim_owner = ?, claim_expires_at = ?
		WHERE scope = ? AND controller = ? AND resource_key = ? RETURNING consecutive_errors, retries`,
		values(string(c.token), c.wake, t.owner, t.now.Add(d), t.scope, ref.Controller, ref.Key), &c.errors, &c.retries)
	return c, err
}

// held is what a live claim holds.
type held struct {
	record
	lane            controller.Lane
	errors, retries int
	lastError       string
	// seen counts the wake-ups that the pass has seen.
	seen int64
}

// woken reports whether a wake-up arrived since the claim.
func (h held) woken() bool { return h.wake != h.seen }

// live finds what a claim holds, or a *lease.LostError. It is part of the
// transaction of every write of a pass.
func (t *tx) live(c *controller.Claim) (h held, err error) {
	var token string
	var expires time.Time
	var lane int
	found, err := t.first("SELECT "+recordColumns+`, q.claim_token, q.claim_expires_at, q.lane,
			q.consecutive_errors, q.retries, q.last_error, q.claim_wake
		FROM resources r JOIN queue q USING (scope, controller, resource_key)
		WHERE r.scope = ? AND r.controller = ? AND r.resource_key = ?`,
		values(t.scope, c.Ref.Controller, c.Ref.Key),
		append(h.columns(), &token, &expires, &lane, &h.errors, &h.retries, &h.lastError, &h.seen)...)
	h.lane = controller.Lane(lane)
	if err != nil {
		return h, err
	}
	return h, lost(c.Ref.String(), found, string(c.Token), token, expires, t.now)
}

// lost returns a *lease.LostError unless the row is there, carries the token,
// and its lease goes on. A lease that ended is lost even if nobody took it.
func lost(what string, found bool, token, present string, expires, now time.Time) error {
	var reason lease.Reason
	switch {
	case !found:
		reason = lease.Gone
	case present == "":
		reason = lease.Released
	case present != token:
		reason = lease.Taken
	case !expires.After(now):
		reason = lease.Expired
	default:
		return nil
	}
	return &lease.LostError{What: what, Reason: reason}
}

// Renew extends a claim; see controller.Store.
func (s *Store) Renew(ctx context.Context, c *controller.Claim, d time.Duration) error {
	return s.do(ctx, "renew claim", func(t *tx) error {
		if _, err := t.live(c); err != nil {
			return err
		}
		return t.exec("UPDATE queue SET claim_expires_at = ? WHERE scope = ? AND controller = ? AND resource_key = ?",
			t.now.Add(d), t.scope, c.Ref.Controller, c.Ref.Key)
	})
}
