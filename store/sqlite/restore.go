package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"piworkflows/controller"
	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
)

// Restoring says what to bring back, and what it may do.
type Restoring struct {
	// From is a copy that Backup made, Actor is recorded as who brings it back.
	From, Actor string
	// Project names the project of the store for people; it may be empty.
	Project string
	// OtherProject allows a copy that has nothing of the project of the store.
	OtherProject bool
	// Unreadable allows to put the copy in the place of a file that is no database:
	// of a store whose beginning is ruined nothing tells that it is one.
	Unreadable bool
	// Progress may be nil.
	Progress Progress
}

// Restored says what a restoration did.
type Restored struct {
	Contents
	// Projects are the scopes of the projects that the copy has something of.
	Projects []string
	// Kept is the name of the store that was there before; empty if there was none.
	Kept string
	// Doubted counts the effects that became indeterminate.
	Doubted int64
}

// cursorGap is how far the numbers of events jump at a restoration: a cursor that
// was given after the copy was taken must never meet its number again.
const cursorGap = 1 << 32

// Restore puts a copy that Backup made in the place of the store of o. The copy is
// verified and stays as it is. In what takes its place every project is marked as
// restored; see controller.Store. The store that was there is kept under another
// name. Nobody may have the store open: an *OpenError names who has. It refuses what
// the caller does not allow: an *OtherProjectError, an *UnreadableError. Other errors are
// those of Verify and Open; after an error the store that was there is in its place.
func Restore(ctx context.Context, o Options, what Restoring) (Restored, error) {
	o, err := o.complete()
	if err != nil {
		return Restored{}, err
	}
	if what.From, err = filepath.Abs(what.From); err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	o.files = "pi-workflows-" + uuid.NewString()
	if err := registerFiles(o.files, o.Fault); err != nil {
		return Restored{}, err
	}
	defer forgetFiles(o.files)
	r, err := o.restore(ctx, what)
	return r, o.explain("restore", err)
}

func (o Options) restore(ctx context.Context, what Restoring) (r Restored, err error) {
	if _, err := Verify(what.From); err != nil {
		return r, err
	}
	if r.Projects, err = o.copied(what); err != nil {
		return r, err
	}
	if err := o.replaceable(what.Unreadable); err != nil {
		return r, err
	}
	if err := durable.OS().MkdirAll(filepath.Dir(o.Path)); err != nil {
		return r, err
	}
	gate, err := closeGate(o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, removeLock(gate)) }()
	d, err := newDraft(o.Path)
	if err != nil {
		return r, err
	}
	defer d.discard()
	if err := copyFile(ctx, what.From, o.toWrite(d.path), what.Progress); err != nil {
		return r, err
	}
	if r.Doubted, err = o.distrust(d.path, controller.Restoration{Actor: what.Actor, From: what.From}); err != nil {
		return r, err
	}
	if r.Contents, err = o.settled(d.path); err != nil {
		return r, err
	}
	if err := d.sync(o.Fault); err != nil {
		return r, err
	}
	if r.Kept, err = o.setAside(); err != nil {
		return r, err
	}
	if err := d.replace(); err != nil {
		return r, err
	}
	forgetOwners(o.Path)
	return r, nil
}

// copied are the projects that a copy has something of. An empty copy is one of any
// project.
func (o Options) copied(what Restoring) (projects []string, err error) {
	c, err := openCopy(what.From)
	if err != nil {
		return nil, err
	}
	defer c.close()
	var scope string
	err = c.each("SELECT scope FROM controllers UNION SELECT scope FROM workflow_run_queue ORDER BY scope", nil, func() error {
		projects = append(projects, scope)
		return nil
	}, &scope)
	if err == nil && len(projects) > 0 && !what.OtherProject && !slices.Contains(projects, o.Scope) {
		err = &OtherProjectError{Path: what.From, Project: cmp.Or(what.Project, o.Scope), Projects: projects}
	}
	return projects, err
}

// replaceable refuses to replace a file that is not a store of ours.
func (o Options) replaceable(unreadable bool) error {
	if info, err := os.Lstat(o.Path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a link or a folder: name the file of the store itself", o.Path)
	}
	err := identify(o.Path)
	_, foreign := errors.AsType[*ForeignStoreError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case !foreign || isDatabase(o.Path):
		return err
	case unreadable:
		return nil
	}
	return &UnreadableError{Path: o.Path}
}

// copyFile copies a copy.
func copyFile(ctx context.Context, from string, to access, progress Progress) error {
	c, err := openCopy(from)
	if err != nil {
		return err
	}
	defer c.close()
	return c.copyInto(ctx, to, progress)
}

// distrust brings a copy to our version, marks all projects in it, and counts the
// effects that are in doubt now.
func (o Options) distrust(path string, r controller.Restoration) (doubted int64, err error) {
	c, err := openConn(o.toWrite(path))
	if err != nil {
		return 0, err
	}
	defer c.close()
	now := milliseconds(o.Clock)
	if err := migrate(c, path, now); err != nil {
		return 0, err
	}
	if err := c.script("PRAGMA foreign_keys = ON; BEGIN IMMEDIATE"); err != nil {
		return 0, err
	}
	defer func() { _ = c.rollback() }() // does nothing after the commit
	t := &tx{conn: c, now: now}
	if err := c.script("DELETE FROM owners; DELETE FROM restorations"); err != nil {
		return 0, err
	}
	head, err := t.head()
	if err != nil {
		return 0, err
	}
	if doubted, err = t.restored(everywhere, r); err != nil {
		return 0, err
	}
	if err := t.leap(head); err != nil {
		return 0, err
	}
	return doubted, c.script("COMMIT")
}

// leap moves the events after a number, or else the newest one, far ahead of all
// that were recorded before, and of the end of their index.
func (t *tx) leap(head int64) error {
	const leaping = " WHERE seq >= min(?, (SELECT max(seq) FROM events))"
	if err := t.exec("DELETE FROM event_index"+leaping, head+1); err != nil {
		return err
	}
	return t.exec("UPDATE events SET seq = seq + ?"+leaping, int64(cursorGap), head+1)
}

// setAside keeps the store that is there under another name as well, and returns
// it. What is in the write-ahead log comes into its file first; a log that cannot be
// read, of a store that is damaged, is kept beside it.
func (o Options) setAside() (string, error) {
	kept := o.Path + ".before-restore-" + o.Clock.Now().UTC().Format("20060102T150405.000Z")
	there := true
	if c, err := openConn(o.toWrite(o.Path)); err == nil {
		_ = c.script("PRAGMA wal_checkpoint(TRUNCATE)") // else the log is kept
		c.close()
	}
	err := os.Link(o.Path, kept)
	if errors.Is(err, fs.ErrNotExist) {
		there, err = false, nil
	}
	if err != nil {
		return "", fmt.Errorf("keep the store that is there: %w", err)
	}
	if err := os.Rename(o.Path+"-wal", kept+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", errors.Join(fmt.Errorf("keep the log of the store that is there: %w", err), os.Remove(kept))
	}
	if err := os.Remove(o.Path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("remove the index of the log of the store that is there: %w", err)
	}
	if !there {
		return "", nil
	}
	return kept, nil
}

// forgetOwners removes the locks of dead owners: no file names them any more.
func forgetOwners(path string) {
	locks, err := ownerLocks(path)
	if err != nil {
		return
	}
	for _, l := range locks {
		if lock, err := oslock.TryLock(l); err == nil {
			_ = removeLock(lock) // a file that stays disturbs nobody
		}
	}
}
