package sqlite

import (
	"cmp"
	"context"
	"time"

	"piworkflows/runqueue"
)

// Launch inserts a run that the caller runs itself; see runqueue.Store.
func (s *Store) Launch(ctx context.Context, r runqueue.NewRun, d time.Duration) (*runqueue.Claim, error) {
	row, err := newRow(r, runqueue.Running)
	if err != nil {
		return nil, err
	}
	return write(ctx, s, "launch run", func(t *tx) (*runqueue.Claim, error) {
		if err := t.insertRun(row); err != nil {
			return nil, err
		}
		return t.takeRun(row.RunID, row.Root, d)
	})
}

// QueueRun inserts a run for the hosts; see runqueue.Store.
func (s *Store) QueueRun(ctx context.Context, r runqueue.NewRun) error {
	row, err := newRow(r, runqueue.Queued)
	if err != nil {
		return err
	}
	row.Detached = true
	return s.do(ctx, "queue run", func(t *tx) error { return t.insertRun(row) })
}

func newRow(r runqueue.NewRun, status runqueue.Status) (runqueue.Row, error) {
	row := runqueue.Row{
		RunID: r.RunID, Workflow: r.Workflow, Source: r.Source, Digest: r.Digest, Input: r.Input,
		ContinuationOf: r.ContinuationOf, Root: r.Root, Status: status,
	}
	return row, checkRun(&row)
}

// insertRun inserts a run of a person.
func (t *tx) insertRun(row runqueue.Row) error {
	if row.ContinuationOf != "" {
		if err := t.inherit(&row); err != nil {
			return err
		}
	}
	return t.queueRun(row, t.now)
}

// inherit makes a row the continuation of its parent: that of a child run is the
// child run from now on.
func (t *tx) inherit(row *runqueue.Row) error {
	parent, err := t.continuable(row.ContinuationOf)
	if err != nil {
		return err
	}
	row.Root = cmp.Or(parent.Root, row.Root)
	if parent.ChildOf == "" {
		return nil
	}
	row.Detached = false // every child run belongs to the hosts
	row.ChildOf, row.Attempt = parent.ChildOf, parent.Attempt
	return t.continueChild(parent, row.RunID)
}

// continuable finds a run that can get a continuation, or reports why it cannot.
// Whether it waits for one is in its bundle; the row only tells that nobody runs it
// any more.
func (t *tx) continuable(runID string) (runqueue.Row, error) {
	row, err := t.run(runID)
	switch {
	case err != nil:
	case row.ContinuedBy != "":
		err = &runqueue.ContinuedError{RunID: runID, ContinuedBy: row.ContinuedBy}
	case row.Status != runqueue.Done:
		err = &runqueue.NotWaitingError{RunID: runID, Status: string(row.Status)}
	}
	return row, err
}

// AdoptRun claims one interactive run that nobody runs; see runqueue.Store.
func (s *Store) AdoptRun(ctx context.Context, runID, root string, d time.Duration) (*runqueue.Claim, error) {
	if err := s.judgeHolder(ctx, runID); err != nil {
		return nil, s.o.explain("adopt run", err)
	}
	return write(ctx, s, "adopt run", func(t *tx) (*runqueue.Claim, error) {
		if err := t.expireRuns(); err != nil {
			return nil, err
		}
		row, err := t.run(runID)
		if err == nil {
			err = adoptable(row)
		}
		if err != nil {
			return nil, err
		}
		err = t.exec("UPDATE workflow_run_queue SET detached = 0, paused = 0 WHERE scope = ? AND run_id = ?", t.scope, runID)
		if err != nil {
			return nil, err
		}
		c, err := t.takeRun(runID, root, d)
		if err != nil {
			return nil, err
		}
		c.Interrupted = row.Interrupted()
		return c, nil
	})
}

// judgeHolder frees a row at once if the process that claims it is dead.
func (s *Store) judgeHolder(ctx context.Context, runID string) error {
	holders, err := read(ctx, s, "find the owner of a run", func(t *tx) ([]string, error) {
		return t.names(`SELECT claim_owner FROM workflow_run_queue
			WHERE scope = ? AND run_id = ? AND claim_token IS NOT NULL AND claim_owner <> ?`, t.scope, runID, t.owner)
	})
	if err != nil || s.writer == nil {
		return err
	}
	return s.reap(ctx, holders)
}

func adoptable(row runqueue.Row) error {
	switch {
	case row.ChildOf != "":
		return &runqueue.ChildRunError{RunID: row.RunID, ChildOf: row.ChildOf}
	case row.Status.Final():
		return &runqueue.EndedError{RunID: row.RunID, Status: string(row.Status)}
	case row.Holder != "":
		return &runqueue.HeldError{RunID: row.RunID, Holder: row.Holder}
	}
	return nil
}
