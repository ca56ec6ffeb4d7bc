package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"piworkflows/clock"
	"piworkflows/engine"
	"piworkflows/internal/oslock"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// detached runs the runs that belong to no terminal. When it stops it parks them;
// the next host goes on at the nodes where they stopped.
type detached struct {
	o     Options
	store Store
	// storeFailed is told of errors of the store.
	storeFailed func(error)
	// root is the ID of the folder of runs.
	root string

	mu sync.Mutex
	// active counts the runs; dry says that none waits.
	active int
	dry    bool
	// turn is closed and replaced when active or dry change.
	turn chan struct{}
}

func newDetached(o Options, store Store, root string, storeFailed func(error)) *detached {
	return &detached{o: o, store: store, root: root, storeFailed: storeFailed, turn: make(chan struct{})}
}

// run claims and runs rows until ctx ends, then parks what still runs and waits for
// it.
func (d *detached) run(ctx context.Context) {
	c := claims{d.store, d.o.Clock, d.o.Logger, d.o.Lease, d.storeFailed}
	query := runqueue.ClaimQuery{Detached: true, Root: d.root}
	inParallel(ctx, d.o.DetachedRuns,
		func() *runqueue.Claim {
			claim := c.next(ctx, query, func(is bool) { d.change(func() { d.dry = is }) })
			if claim != nil {
				d.change(func() { d.active++ })
			}
			return claim
		},
		func(claim *runqueue.Claim) {
			defer d.change(func() { d.active-- })
			d.execute(ctx, claim)
		})
}

// change changes active or dry, and tells of it.
func (d *detached) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	close(d.turn)
	d.turn = make(chan struct{})
}

// running counts the runs that are under way.
func (d *detached) running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.active
}

// awaitIdle returns once no run is under way and none waits, or ctx ended.
func (d *detached) awaitIdle(ctx context.Context) {
	for {
		d.mu.Lock()
		idle, turn := d.active == 0 && d.dry, d.turn
		d.mu.Unlock()
		if idle {
			return
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return
		}
	}
}

// execute brings a claimed run to its end, or as far as it comes.
func (d *detached) execute(ctx context.Context, claim *runqueue.Claim) {
	s := &solo{
		options: d.o, store: d.store, engine: engine.New(d.o.engine()), runID: claim.Row.RunID, claim: claim, stay: true,
	}
	held, release := s.keep(ctx)
	defer release()
	d.o.ground().await(ctx, held, s.runID)
	log := d.o.Logger.With("runId", s.runID, "workflow", claim.Row.Workflow)
	log.InfoContext(ctx, "detached run", "state", "running")
	result, err := d.outcome(ctx, held, s)
	switch {
	case errors.Is(err, lease.ErrLost):
		log.WarnContext(ctx, "the claim of a detached run was lost", "error", err)
	case err != nil:
		log.WarnContext(ctx, "detached run", "state", "parked", "error", err)
	case result.Parked:
		log.InfoContext(ctx, "detached run", "state", "parked")
	default:
		log.LogAttrs(ctx, slog.LevelInfo, "detached run", endOf(result)...)
	}
}

// endOf are the fields of a run that ended: an error only if it has one.
func endOf(r engine.Result) []slog.Attr {
	list := []slog.Attr{slog.String("state", string(r.Status))}
	if r.Error != "" {
		list = append(list, slog.String("error", r.Error))
	}
	return list
}

func (d *detached) outcome(ctx, held context.Context, s *solo) (engine.Result, error) {
	if row := s.claim.Row; row.Root != d.root {
		return engine.Result{}, d.refuse(ctx, held, s, errors.New(reasonUnreachable))
	}
	starting, cancel := context.WithCancel(held)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	run, err := s.begin(starting, false)
	if err != nil {
		return engine.Result{}, d.notBegun(ctx, held, s, err)
	}
	if s.claim.Row.CancelReason != "" {
		run.Cancel()
	}
	return s.follow(ctx, held, run)
}

// notBegun leaves the row of a run that could not go on as it should be.
func (d *detached) notBegun(ctx, held context.Context, s *solo, cause error) error {
	switch {
	case errors.Is(cause, lease.ErrLost):
		return cause
	case ended(ctx):
		return d.end(ctx, held, s, func(ctx context.Context) error { return s.store.ParkRun(ctx, s.claim, "") })
	case isRecordError(cause), errors.Is(cause, oslock.ErrHeld):
		// The disk may take it later, and the owner of the bundle may go.
		_ = clock.Sleep(ctx, d.o.Clock, storeRetry)
		return errors.Join(cause, d.end(ctx, held, s, func(ctx context.Context) error {
			return s.store.ParkRun(ctx, s.claim, cause.Error())
		}))
	case isInputError(cause):
		return errors.Join(cause, d.end(ctx, held, s, func(ctx context.Context) error {
			return s.store.AbandonRun(ctx, s.claim, runqueue.Failed, cause.Error())
		}))
	}
	return d.refuse(ctx, held, s, cause)
}

// refuse leaves a run to another program or person, with the reason.
func (d *detached) refuse(ctx, held context.Context, s *solo, cause error) error {
	if ended, ok := errors.AsType[*runbundle.EndedError](cause); ok { // of which its row did not know
		return d.end(ctx, held, s, func(ctx context.Context) error { return s.settle(ctx, ended.Status) })
	}
	return errors.Join(cause, d.end(ctx, held, s, func(ctx context.Context) error {
		return s.store.RefuseRun(ctx, s.claim, cause.Error())
	}))
}

// end writes to the row of a run while the claim is held.
func (d *detached) end(ctx, held context.Context, s *solo, write func(context.Context) error) error {
	return insist(ctx, held, d.o.Clock, d.o.Logger.With("runId", s.runID), func() error {
		return write(context.WithoutCancel(ctx))
	})
}

// isInputError reports whether a run can never begin, whoever tries.
func isInputError(err error) bool {
	_, input := errors.AsType[*engine.InputError](err)
	_, waits := errors.AsType[*engine.NotWaitingError](err)
	return input || waits || refused(err)
}
