package host

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"

	"piworkflows/clock"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

// The words of a store about its copies; see package store/sqlite.
type (
	// StoreContents says what is in a store, of all its projects.
	StoreContents = sqlite.Contents
	// StoreRestored says what a restoration did to the store.
	StoreRestored = sqlite.Restored
	// CopyProgress hears how many pages of a copy are made.
	CopyProgress = sqlite.Progress
)

// Backup writes a verified copy of the store of a project, of one moment, while
// others go on; see sqlite.Store.Backup. Run bundles are not in it.
func Backup(
	ctx context.Context, p Paths, c clock.Clock, log *slog.Logger, file string, progress CopyProgress,
) (n StoreContents, err error) {
	store, err := OpenReader(ctx, p, c, log)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.Backup(ctx, file, progress)
}

// RestoreOptions say what to bring back, and where.
type RestoreOptions struct {
	Paths
	// From is a copy that Backup made.
	From string
	// Actor is recorded as who did it.
	Actor string
	// OtherProject allows a copy that has nothing of the project, Unreadable to replace
	// a file that is no database; see sqlite.Restoring.
	OtherProject, Unreadable bool

	Clock  clock.Clock
	Logger *slog.Logger
	// Progress may be nil.
	Progress CopyProgress
}

// Restoration says what Restore did.
type Restoration struct {
	StoreRestored
	// OtherProject says that the copy has nothing of the project, but of others.
	OtherProject bool
	// Runs are those of the project that had not ended and have no record here.
	Runs []UnrecordedRun
}

// UnrecordedRun is a run that was brought back without its record.
type UnrecordedRun struct {
	RunID, Workflow string
	// Fate is FateAnew or FateEnded.
	Fate RunFate
}

// RunFate is what becomes of a run without a record.
type RunFate string

// The fates of a run that was brought back without its record.
const (
	// FateAnew is a run that a host begins anew.
	FateAnew RunFate = "begins anew"
	// FateEnded is a run that failed, because nobody can go on with it.
	FateEnded RunFate = "ended"
)

// reasonNoRecord is the error of a run that cannot go on after a restoration.
const reasonNoRecord = "it was brought back from a copy of the store, and its record is not here"

// Restore puts a copy in the place of the store; see sqlite.Restore. It refuses
// while a host or anybody else has the store open: a *HeldError, a
// *sqlite.OpenError; and what the options do not allow: a *sqlite.OtherProjectError, a
// *sqlite.UnreadableError. Bundles stay as they are: runs that have ended since the copy
// are found by theirs.
func Restore(ctx context.Context, o RestoreOptions) (r Restoration, err error) {
	o.Clock, o.Logger = orDefaults(o.Clock, o.Logger)
	scope, err := sqlite.Scope(o.Project)
	if err != nil {
		return r, err
	}
	lock, err := lockHost(ctx, o.Store, o.Clock)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err == nil {
		defer func() { err = errors.Join(err, lock.release()) }()
	}
	place := sqlite.Options{Path: o.Store, Scope: scope, Clock: o.Clock, Logger: o.Logger}
	if r.StoreRestored, err = sqlite.Restore(ctx, place, o.restoring()); err != nil {
		return r, err
	}
	r.OtherProject = len(r.Projects) > 0 && !slices.Contains(r.Projects, scope)
	r.Runs, err = o.settleRuns(ctx)
	return r, err
}

func (o RestoreOptions) restoring() sqlite.Restoring {
	return sqlite.Restoring{
		From: o.From, Actor: o.Actor, Project: o.Project, OtherProject: o.OtherProject, Unreadable: o.Unreadable, Progress: o.Progress,
	}
}

func orDefaults(c clock.Clock, log *slog.Logger) (clock.Clock, *slog.Logger) {
	o := Options{Clock: c, Logger: log}.withDefaults()
	return o.Clock, o.Logger
}

// settleRuns looks at the runs that had not ended when the copy was made. Without a
// record, those that belong to the hosts begin anew, and nobody can go on with another
// one. Those in another folder of runs are for the hosts that have it.
func (o RestoreOptions) settleRuns(ctx context.Context) (list []UnrecordedRun, err error) {
	store, err := OpenStore(ctx, o.Paths, o.Clock, o.Logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	root, err := rootID(o.Runs)
	if err != nil {
		return nil, err
	}
	for _, status := range []runqueue.Status{runqueue.Running, runqueue.Parked} {
		err := eachRun(ctx, store, runqueue.Query{Status: status}, func(row runqueue.Row) error {
			_, err := runbundle.ReadManifest(filepath.Join(o.Runs, row.RunID))
			if !unrecorded(err) || row.Root != "" && row.Root != root {
				return nil
			}
			fate, err := o.settleRun(ctx, store, row)
			if err == nil {
				list = append(list, UnrecordedRun{row.RunID, row.Workflow, fate})
			}
			return err
		})
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// eachRun calls f with every run that a query finds, page by page. f may change the
// run.
func eachRun(ctx context.Context, store runqueue.Store, q runqueue.Query, f func(runqueue.Row) error) error {
	q.Limit = cmp.Or(q.Limit, runsPage)
	for {
		page, err := store.Runs(ctx, q)
		if err != nil {
			return err
		}
		for _, row := range page {
			if err := f(row); err != nil {
				return err
			}
		}
		if len(page) < q.Limit {
			return nil
		}
		q.Before = page[len(page)-1].RunID
	}
}

// runsPage is how many runs are read at once.
const runsPage = 1000

func (o RestoreOptions) settleRun(ctx context.Context, store runqueue.Store, row runqueue.Row) (RunFate, error) {
	if o.beginsAnew(row) {
		return FateAnew, nil
	}
	claim, err := store.AdoptRun(ctx, row.RunID, "", lease.DefaultDuration)
	if err != nil {
		return "", err
	}
	return FateEnded, store.AbandonRun(ctx, claim, runqueue.Failed, reasonNoRecord)
}

// beginsAnew reports whether a host begins a run that has no record. It can tell
// that a continuation never began only by the record of its parent.
func (o RestoreOptions) beginsAnew(row runqueue.Row) bool {
	if row.ChildOf != "" {
		return true
	}
	here := Options{Paths: o.Paths}
	return row.Detached && (row.ContinuationOf == "" || here.recorded(row.ContinuationOf))
}
