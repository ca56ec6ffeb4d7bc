package sqlite

import (
	"context"
	"time"

	"piworkflows/runqueue"
)

// Launch inserts a run that the caller runs itself; see runqueue.Store.
func (s *Store) Launch(ctx context.Context, r runqueue.NewRun, d time.Duration) (*runqueue.Claim, error) {
	row := runqueue.Row{
		RunID: r.RunID, Workflow: r.Workflow, Source: r.Source, Digest: r.Digest, Input: r.Input,
		ContinuationOf: r.ContinuationOf, Status: runqueue.Running,
	}
	if err := checkRun(&row); err != nil {
		return nil, err
	}
	return write(ctx, s, "launch run", func(t *tx) (*runqueue.Claim, error) {
		row := row // the transaction may run again
		if row.ContinuationOf != "" {
			if err := t.inherit(&row); err != nil {
				return nil, err
			}
		}
		if err := t.queueRun(row, t.now); err != nil {
			return nil, err
		}
		return t.takeRun(row.RunID, d)
	})
}

// inherit makes a row the continuation of its parent: that of a child run is the
// child run from now on.
func (t *tx) inherit(row *runqueue.Row) error {
	parent, err := t.continuable(row.ContinuationOf)
	if err != nil || parent.ChildOf == "" {
		return err
	}
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
func (s *Store) AdoptRun(ctx context.Context, runID string, d time.Duration) (*runqueue.Claim, error) {
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
		c, err := t.takeRun(runID, d)
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
