package sqlite

import (
	"context"
	"strconv"
	"strings"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
)

// Claim takes the key that is due the longest; see controller.Store.
func (s *Store) Claim(ctx context.Context, controllers []string, d time.Duration) (*controller.Claim, error) {
	// A look that takes no lock first: an idle process disturbs nobody. After a
	// claim that found something there is probably more.
	if !s.hasWork.Load() {
		at, err := read(ctx, s, "look for work", func(t *tx) (*time.Time, error) { return t.nextDue(controllers) })
		if err != nil || !isDue(at, milliseconds(s.o.Clock)) {
			return nil, err
		}
	}
	var taken *claimed
	err := s.change(ctx, "claim", change{fleeting: func(t *tx) (err error) {
		taken, err = t.claim(&s.writer.heads, controllers, d)
		return err
	}})
	return s.took(taken, err)
}

// took is the answer to a claim.
func (s *Store) took(taken *claimed, err error) (*controller.Claim, error) {
	s.hasWork.Store(taken != nil && err == nil)
	if err != nil || taken == nil {
		return nil, err
	}
	return taken.decode()
}

// isDue reports whether a moment has come; nil never does.
func isDue(at *time.Time, now time.Time) bool { return at != nil && !at.After(now) }

// claimed is what a claim took.
type claimed struct {
	record
	token           lease.Token
	lane            int
	waited          time.Duration
	errors, retries int
}

func (c *claimed) decode() (*controller.Claim, error) {
	raw, err := c.record.decode()
	if err != nil {
		return nil, err
	}
	return &controller.Claim{
		Ref: c.Ref, Token: c.token, Wake: c.wake, Lane: controller.Lane(c.lane), Waited: c.waited,
		ConsecutiveErrors: c.errors, Retries: c.retries, Resource: raw,
	}, nil
}

// claim takes the key whose turn is the longest ago; nil if none is due.
func (t *tx) claim(ahead *heads, controllers []string, d time.Duration) (c *claimed, err error) {
	ahead.open(t)
	from, best, err := ahead.first(t, controllers)
	if best != nil && err == nil {
		c, err = t.take(from, best.take(), d)
	}
	ahead.changes = t.changes()
	return c, err
}

// expire frees the claims of a controller that have run out.
func (t *tx) expire(line int64) error {
	at, err := t.firstExpiry(line)
	if err != nil || !isDue(at, t.now) {
		return err
	}
	return t.cutOff("claim_expires_at <= ? AND controller_id = ?", "its claim expired during a pass", t.now, line)
}

// unclaimed is a row without a claim.
const unclaimed = "claim_token = NULL, claim_wake = NULL, claim_owner = NULL, claim_expires_at = NULL"

// cutOff frees claims of which nobody told the end. It counts as an error of the
// key: a pass that kills its process must not look like the first one for ever.
// After the first error in a row, and if it was woken meanwhile, the key stays due;
// else it backs off, so that such a pass leaves time to the others.
func (t *tx) cutOff(where, reason string, args ...any) error {
	return t.exec(`UPDATE queue INDEXED BY queue_claimed SET available_at = iif(
				consecutive_errors = 0 OR claim_wake <> (SELECT wake FROM resources WHERE id = resource_id),
				available_at, max(available_at, ? + min(?, ? << min(consecutive_errors - 1, 16)))),
			consecutive_errors = consecutive_errors + 1, last_error = ?, `+unclaimed+`
		WHERE claim_token IS NOT NULL AND `+where,
		append(values(t.now, controller.BackoffMax.Milliseconds(), controller.BackoffBase.Milliseconds(), reason), args...)...)
}

// takeQuery reads what a pass starts from.
const takeQuery = `SELECT r.resource_key, r.uid, r.resource_version, r.generation, r.spec_json, r.observed_generation,
		r.conditions_json, r.workflow_run_json, r.controller_status_json, r.deletion_timestamp, r.finalizers_json,
		r.wake, q.lane, q.available_at, q.consecutive_errors, q.retries
	FROM resources r JOIN queue q ON q.resource_id = r.id WHERE r.id = ?`

func (t *tx) take(from *line, id int64, d time.Duration) (*claimed, error) {
	c := &claimed{token: newToken(id)}
	c.Controller = from.name
	var due time.Time
	_, err := t.first(takeQuery, values(id),
		&c.Key, &c.uid, &c.version, &c.generation, &c.spec, &c.observed,
		&c.conditions, &c.run, &c.status, &c.deletion, &c.finalizers,
		&c.wake, &c.lane, &due, &c.errors, &c.retries)
	if err != nil {
		return nil, err
	}
	c.waited = max(0, t.now.Sub(due))
	return c, t.exec(`UPDATE queue SET claim_token = ?, claim_wake = ?, claim_owner = ?, claim_expires_at = ?
		WHERE resource_id = ?`, string(c.token), c.wake, t.owner, t.now.Add(d), id)
}

// newToken makes a token that begins with the number of the row that it holds,
// so that a pass finds its row without a search by name.
func newToken(id int64) lease.Token {
	return lease.Token(strconv.FormatInt(id, 10)+".") + lease.NewToken()
}

// rowOf returns the number that a token begins with; no row has the number 0.
func rowOf(token lease.Token) int64 {
	digits, _, _ := strings.Cut(string(token), ".")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// held is what a live claim holds. Its record has no spec.
type held struct {
	record
	lane            controller.Lane
	errors, retries int
	lastError       string
	// seen counts the wake-ups that the pass has seen.
	seen int64
	// unfinished says that there is an effect of which nobody knows how it ended.
	unfinished bool
	// changed says that the record differs from the row.
	changed bool
}

// woken reports whether a wake-up arrived since the claim.
func (h *held) woken() bool { return h.wake != h.seen }

const liveQuery = `SELECT r.id, r.uid, r.resource_version, r.guard_version, r.observed_generation, r.conditions_json,
		r.workflow_run_json, r.controller_status_json, r.deletion_timestamp, r.finalizers_json, r.wake, r.handled, r.stalled,
		EXISTS (SELECT 1 FROM effects e WHERE e.resource_id = r.id AND e.state IN ('pending', 'indeterminate')),
		` + holdColumns + `, q.lane, q.consecutive_errors, q.retries, q.last_error, q.claim_wake
	FROM resources r JOIN queue q ON q.resource_id = r.id WHERE r.id = ? AND r.scope = ?`

// live finds what a claim holds, or a *lease.LostError. It is part of the
// transaction of every write of a pass.
func (t *tx) live(c *controller.Claim) (h held, err error) {
	var q hold
	var lane int
	found, err := t.first(liveQuery, values(rowOf(c.Token), t.scope),
		&h.id, &h.uid, &h.version, &h.guard, &h.observed, &h.conditions,
		&h.run, &h.status, &h.deletion, &h.finalizers, &h.wake, &h.handled, &h.stalled, &h.unfinished,
		&q.token, &q.expires, &lane, &h.errors, &h.retries, &h.lastError, &h.seen)
	h.Ref, h.lane = c.Ref, controller.Lane(lane)
	if err != nil {
		return h, err
	}
	return h, q.check(c, found, t.now)
}

// hold is what the queue row of a key says of its claim.
type hold struct {
	token   string
	expires time.Time
}

// What is read of a hold, by the number of the resource and the scope.
const (
	holdColumns = "q.claim_token, q.claim_expires_at"
	holdTables  = "queue q JOIN controllers l ON l.id = q.controller_id"
	holdWhere   = " WHERE q.resource_id = ? AND l.scope = ?"
)

func (h *hold) columns() []any { return []any{&h.token, &h.expires} }

// check returns a *lease.LostError unless the claim is live.
func (h *hold) check(c *controller.Claim, found bool, now time.Time) error {
	return lost(c.Ref.String(), found, string(c.Token), h.token, h.expires, now)
}

// holds is live for operations that only need to know that a claim is live.
func (t *tx) holds(c *controller.Claim) error {
	var h hold
	found, err := t.first("SELECT "+holdColumns+" FROM "+holdTables+holdWhere, values(rowOf(c.Token), t.scope), h.columns()...)
	if err != nil {
		return err
	}
	return h.check(c, found, t.now)
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
	return s.change(ctx, "renew claim", change{fleeting: func(t *tx) error {
		if err := t.holds(c); err != nil {
			return err
		}
		return t.exec("UPDATE queue SET claim_expires_at = ? WHERE resource_id = ?", t.now.Add(d), rowOf(c.Token))
	}})
}
