package durable

import (
	"errors"
	"sync"
)

// Syncer is something that a disk is asked to keep: a [*Pending], an
// [*AppendFile] or a folder of [Dir].
type Syncer interface {
	// due says which operation there is to do, if any.
	due() (op Op, path string, ok bool)
	sync() error
	// done is told how it went, nil if nothing was due, and returns what the
	// caller is told.
	done(err error) error
}

// Dir stands for the entries of a folder: files made, renamed or removed in it.
type Dir string

func (d Dir) due() (op Op, path string, ok bool) { return OpSyncDir, string(d), true }

func (d Dir) sync() error { return syncDir(string(d)) }

func (d Dir) done(err error) error { return err }

// SyncDir makes the entries of a folder last: files made, renamed or removed in
// it. It does nothing on Windows and on file systems that know no such thing.
func (f *FS) SyncDir(path string) error { return f.Sync(Dir(path)) }

// Sync makes all of them last. They are synced at the same time, which takes a
// disk hardly longer than one of them, so nothing may depend on their order. It
// waits for all of them; after an error nobody knows of those that failed.
func (f *FS) Sync(all ...Syncer) error {
	errs := make([]error, len(all))
	var others sync.WaitGroup
	for i, s := range all {
		op, path, due := s.due()
		if !due {
			continue
		}
		if errs[i] = f.ask(op, path); errs[i] != nil {
			continue
		}
		work := func() { errs[i] = reached(op, s.sync()) }
		if i == len(all)-1 {
			work()
		} else {
			others.Go(work)
		}
	}
	others.Wait()
	for i, s := range all {
		errs[i] = s.done(errs[i])
	}
	return errors.Join(errs...)
}
