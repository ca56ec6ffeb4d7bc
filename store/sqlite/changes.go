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
		list, err := read(ctx, s, "follow events", func(t *tx) ([]controller.Event, error) {
			return t.eventsAfter(after, seq, f, maxChanges)
		})
		if err != nil {
			return controller.Changes{}, err
		}
		if len(list) > 0 {
			return controller.Changes{Events: list, Next: list[len(list)-1].Cursor}, nil
		}
		if err := s.sleep(ctx, committed, nil); err != nil {
			return controller.Changes{}, err
		}
	}
}

// eventsAfter reads on from a cursor. One that is ahead of every event is of
// another store, and would wait for ever.
func (t *tx) eventsAfter(c controller.Cursor, seq int64, f controller.ChangeFilter, count int) ([]controller.Event, error) {
	head, err := t.head()
	if err != nil {
		return nil, err
	}
	if seq > head {
		return nil, &CursorError{Cursor: string(c)}
	}
	return t.events(f.Controller, f.Key, "AND seq > ? ORDER BY seq LIMIT ?", seq, count)
}
