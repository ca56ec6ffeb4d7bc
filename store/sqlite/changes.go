package sqlite

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"piworkflows/controller"
)

// maxChanges bounds one answer of the change feed, in events of up to 64 KiB.
const maxChanges = 200

// cursorPrefix is the version of the text of cursors.
const cursorPrefix = "1:"

// encodeCursor is the place after an event. Numbers are given in the order of
// commits, because SQLite has one writer: nothing appears before a cursor later.
func encodeCursor(seq int64) controller.Cursor {
	text := cursorPrefix + strconv.FormatInt(seq, 10)
	return controller.Cursor(base64.RawURLEncoding.EncodeToString([]byte(text)))
}

// decodeCursor returns the number of the event that a cursor comes after; the
// empty cursor is the beginning.
func decodeCursor(c controller.Cursor) (int64, error) {
	if c == "" {
		return 0, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil {
		return 0, &CursorError{Cursor: string(c)}
	}
	digits, ok := strings.CutPrefix(string(text), cursorPrefix)
	seq, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || seq < 0 {
		return 0, &CursorError{Cursor: string(c)}
	}
	return seq, nil
}

// Head returns the place after the newest event; see controller.Store.
func (s *Store) Head(ctx context.Context) (controller.Cursor, error) {
	head, err := read(ctx, s, "read events", (*tx).head)
	if err != nil {
		return "", err
	}
	return encodeCursor(head), nil
}

// head returns the highest number that an event of the file ever had: the newest
// one is never removed.
func (t *tx) head() (seq int64, err error) {
	_, err = t.first("SELECT max(seq) FROM events", nil, &seq)
	return seq, err
}

// Changes follows the events; see controller.Store.
func (s *Store) Changes(ctx context.Context, after controller.Cursor, f controller.ChangeFilter) (controller.Changes, error) {
	seq, err := decodeCursor(after)
	if err != nil {
		return controller.Changes{}, err
	}
	defer s.watch.enter()()
	for {
		committed := s.commit.next()
		var list []controller.Event
		head, err := read(ctx, s, "follow events", func(t *tx) (head int64, err error) {
			list, head, err = t.eventsAfter(after, seq, f, maxChanges)
			return head, err
		})
		if err != nil {
			return controller.Changes{}, err
		}
		if len(list) > 0 {
			return controller.Changes{Events: list, Next: list[len(list)-1].Cursor}, nil
		}
		seq = head // there is nothing up to here
		if err := s.sleep(ctx, committed, nil); err != nil {
			return controller.Changes{}, err
		}
	}
}

// eventsAfter reads on from a cursor, and returns the number of the newest event with
// what it finds. A cursor that is ahead of every event is of another store, and would
// wait for ever.
func (t *tx) eventsAfter(
	c controller.Cursor, seq int64, f controller.ChangeFilter, count int,
) (list []controller.Event, head int64, err error) {
	if head, err = t.head(); err != nil || seq == head {
		return nil, head, err
	}
	if seq > head {
		return nil, head, &CursorError{Cursor: string(c)}
	}
	from := eventsOf(f.Controller, f.Key)
	indexed, err := t.first("SELECT 1 FROM event_index_end WHERE seq > ?", values(seq))
	if !indexed { // all that follows is behind its end
		from = "events"
	}
	if err == nil {
		list, err = t.events(from, f.Controller, f.Key, "AND seq > ? ORDER BY seq LIMIT ?", seq, count)
	}
	return list, head, err
}
