package sqlite

import (
	"context"
	"time"

	"piworkflows/clock"
)

// tx is one transaction of a store: all queries are methods of it.
type tx struct {
	*conn
	scope, owner string
	// now is the moment of the transaction, in the resolution of the file.
	now time.Time
}

func (s *Store) tx(c *conn) *tx {
	return &tx{conn: c, scope: s.o.Scope, owner: s.instance, now: milliseconds(s.o.Clock)}
}

// milliseconds reads a clock as the file keeps it.
func milliseconds(c clock.Clock) time.Time { return time.UnixMilli(c.Now().UnixMilli()).UTC() }

// update runs f in a transaction that writes. f may run again after everything
// that it did was rolled back; what it returns is its last run.
func (s *Store) update(ctx context.Context, f func(*tx) error) error {
	return s.writer.do(ctx, func(c *conn) error { return f(s.tx(c)) })
}

// view runs f in a transaction that reads.
func (s *Store) view(ctx context.Context, f func(*tx) error) error {
	return s.reader.do(ctx, func(c *conn) error { return f(s.tx(c)) })
}

// write is update for operations of the store: f has a result, errors are
// typed, op names what was tried.
func write[T any](ctx context.Context, s *Store, op string, f func(*tx) (T, error)) (T, error) {
	var result, none T
	err := s.change(ctx, op, change{lasting: func(t *tx) (err error) {
		result, err = f(t)
		return err
	}})
	if err != nil {
		return none, err
	}
	return result, nil
}

// change is what an operation writes: something that has to last, and then
// something that dies with this process. One of them may be nil.
type change struct{ lasting, fleeting func(*tx) error }

// change makes a change in one transaction.
func (s *Store) change(ctx context.Context, op string, c change) error {
	if s.life.Err() != nil {
		return ErrClosed
	}
	if s.writer == nil {
		return s.o.explain(op, errReadOnly)
	}
	return s.o.explain(op, s.writer.perform(&task{ctx: ctx, run: s.part(c.lasting), then: s.part(c.fleeting)}))
}

// part turns a part of a change into one of a task.
func (s *Store) part(f func(*tx) error) func(*conn) error {
	if f == nil {
		return nil
	}
	return func(c *conn) error { return f(s.tx(c)) }
}

// do is write for operations without a result.
func (s *Store) do(ctx context.Context, op string, f func(*tx) error) error {
	_, err := write(ctx, s, op, func(t *tx) (struct{}, error) { return struct{}{}, f(t) })
	return err
}

// read is view for operations of the store.
func read[T any](ctx context.Context, s *Store, op string, f func(*tx) (T, error)) (T, error) {
	var result, none T
	if s.life.Err() != nil {
		return none, ErrClosed
	}
	err := s.view(ctx, func(t *tx) (err error) {
		result, err = f(t)
		return err
	})
	if err != nil {
		return none, s.o.explain(op, err)
	}
	return result, nil
}

// names collects a column of text.
func (t *tx) names(query string, args ...any) ([]string, error) {
	var list []string
	var name string
	err := t.each(query, args, func() error {
		list = append(list, name)
		return nil
	}, &name)
	return list, err
}
