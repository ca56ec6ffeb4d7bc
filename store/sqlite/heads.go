package sqlite

import (
	"math"
	"time"

	"piworkflows/controller"
)

const (
	// freeQuery finds the free rows of a lane that became due first until a moment,
	// expiryQuery the claim that expires first. Both are one step into an index.
	freeQuery = `SELECT available_at, resource_id FROM queue
		WHERE controller_id = ? AND lane = ? AND available_at <= ? AND claim_token IS NULL AND held = 0
		ORDER BY available_at, resource_id LIMIT ?`
	expiryQuery = `SELECT claim_expires_at FROM queue
		WHERE controller_id = ? AND claim_token IS NOT NULL ORDER BY claim_expires_at LIMIT 1`
	lineQuery = "SELECT id FROM controllers WHERE scope = ? AND controller = ?"
)

// eternity is later than every moment of the file.
var eternity = time.UnixMilli(math.MaxInt64)

// nextDue returns when a key of the named controllers becomes claimable; nil is
// not without another wake-up.
func (t *tx) nextDue(controllers []string) (next *time.Time, err error) {
	for _, name := range controllers {
		var line int64
		if _, err := t.first(lineQuery, values(t.scope, name), &line); err != nil {
			return nil, err
		}
		for _, l := range controller.Lanes() {
			var at *time.Time
			if _, err := t.first(freeQuery, values(line, int(l), eternity, 1), &at); err != nil {
				return nil, err
			}
			next = earlier(next, at)
		}
		expiry, err := t.firstExpiry(line)
		if err != nil {
			return nil, err
		}
		next = earlier(next, expiry)
	}
	return next, nil
}

func (t *tx) firstExpiry(line int64) (at *time.Time, err error) {
	_, err = t.first(expiryQuery, values(line), &at)
	return at, err
}

// heads are the rows that are due first, as a claim has read them for those that
// follow it in the same transaction: workers that share a commit share the
// search. They hold as long as nothing but these claims changes anything.
type heads struct {
	// want is how many claims the transaction may make.
	want int
	// transaction and changes are those of the last claim. What becomes due during a
	// transaction is for the next one.
	transaction, changes int64
	lines                map[string]*line
}

// line is what a controller has to do.
type line struct {
	name  string
	id    int64
	lanes [controller.LaneBackground + 1]lane
}

// lane is the beginning of a lane.
type lane struct {
	turns []turn
	// complete says that nothing more is due.
	complete bool
}

// turn is a key that may be claimed. Its turn comes when it becomes due, later by
// the offset of its lane: that is how long a key of a slower lane can wait behind
// those of the faster ones.
type turn struct {
	at time.Time
	id int64
}

// open forgets what need not hold any more.
func (h *heads) open(t *tx) {
	if h.transaction != t.transaction || h.changes != t.changes() {
		h.lines = map[string]*line{}
		h.transaction, h.changes = t.transaction, t.changes()
	}
}

// first returns the lane of the named controllers whose turn is the longest ago,
// and the line that it belongs to; nil if nothing is due.
func (h *heads) first(t *tx, controllers []string) (of *line, best *lane, err error) {
	for _, name := range controllers {
		l, err := h.line(t, name)
		if err != nil {
			return nil, nil, err
		}
		for i := range l.lanes {
			if err := h.fill(t, l, i); err != nil {
				return nil, nil, err
			}
			if l.lanes[i].before(best) {
				of, best = l, &l.lanes[i]
			}
		}
	}
	return of, best, nil
}

func (h *heads) line(t *tx, name string) (*line, error) {
	if l := h.lines[name]; l != nil {
		return l, nil
	}
	l := &line{name: name}
	if _, err := t.first(lineQuery, values(t.scope, name), &l.id); err != nil {
		return nil, err
	}
	h.lines[name] = l
	return l, t.expire(l.id)
}

// fill reads on in a lane of which all that was read has been taken.
func (h *heads) fill(t *tx, of *line, i int) error {
	l := &of.lanes[i]
	if l.complete || len(l.turns) > 0 {
		return nil
	}
	offset := controller.Lane(i).Offset()
	var next turn
	err := t.each(freeQuery, values(of.id, i, t.now, h.want), func() error {
		l.turns = append(l.turns, turn{next.at.Add(offset), next.id})
		return nil
	}, &next.at, &next.id)
	l.complete = len(l.turns) < h.want
	return err
}

func (l *lane) before(other *lane) bool {
	return len(l.turns) > 0 && (other == nil || l.turns[0].at.Before(other.turns[0].at))
}

// take removes the head.
func (l *lane) take() (id int64) {
	id, l.turns = l.turns[0].id, l.turns[1:]
	return id
}
