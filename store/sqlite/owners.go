package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
)

// reapEvery is how often a waiting store looks whether the owners of claims
// that it waits for are alive.
const reapEvery = time.Second

// owner is the registration of a store as one that may hold claims: an
// operating system lock in the folder owners, and a row that names it.
//
// The lock comes before the row and the row before the first claim, so an owner
// that others see in the file is dead as soon as its lock can be taken. An
// instance never comes back: its name is random.
type owner struct {
	lock *oslock.Lock

	mu sync.Mutex
	// next is when others are judged again.
	next time.Time
}

// ownerFile names the lock of an instance.
func (s *Store) ownerFile(instance string) string {
	return filepath.Join(filepath.Dir(s.o.Path), "owners", instance+".lock")
}

// alone reports whether this is the only store that can write, as far as the lock
// files tell. Every store makes its own before it writes for the first time.
func (s *Store) alone() bool {
	const ours = 1
	folder, err := os.Open(filepath.Dir(s.ownerFile(s.instance)))
	if err != nil {
		return false
	}
	defer folder.Close()
	names, err := folder.Readdirnames(ours + 1)
	return err == nil && len(names) <= ours
}

func register(ctx context.Context, s *Store, at place) (*owner, error) {
	path := s.ownerFile(s.instance)
	if err := durable.OS().MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := oslock.TryLock(path)
	if err != nil {
		return nil, err
	}
	if err := at.check(); err != nil {
		return nil, errors.Join(err, removeLock(lock))
	}
	err = s.update(ctx, func(t *tx) error {
		return t.exec("INSERT INTO owners VALUES (?, ?, ?)", s.instance, t.now, label(t.now))
	})
	if err != nil {
		return nil, errors.Join(err, removeLock(lock))
	}
	return &owner{lock: lock}, nil
}

// label names this process for people who look for the owner of something.
func label(since time.Time) string {
	machine, err := os.Hostname()
	if err != nil {
		machine = "an unknown machine"
	}
	return fmt.Sprintf("process %d on %s, at work since %s", os.Getpid(), machine, clock.Format(since))
}

// leave gives back what the store holds, once it can claim nothing more; that
// is no failure of the passes. If it cannot, the lock stays behind for others to
// find that the owner is gone.
func (o *owner) leave(s *Store) error {
	err := s.writer.last(func(c *conn) error { return s.tx(c).dismiss(s.instance, "") })
	if err != nil {
		return errors.Join(s.o.explain("close store", err), o.lock.Unlock())
	}
	return removeLock(o.lock)
}

// removeLock ends a lock; that somebody has removed its file is no error.
func removeLock(lock *oslock.Lock) error {
	if err := lock.Remove(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// reapAll judges every registered owner.
func (s *Store) reapAll(ctx context.Context) error {
	var others []string
	err := s.view(ctx, func(t *tx) (err error) {
		others, err = t.names("SELECT instance FROM owners WHERE instance <> ?", s.instance)
		return err
	})
	if err != nil {
		return err
	}
	return s.reap(ctx, others)
}

// reapDue judges the named owners, unless it was done within reapEvery.
func (s *Store) reapDue(ctx context.Context, others []string) {
	o, now := s.owner, s.o.Clock.Now()
	o.mu.Lock()
	due := !now.Before(o.next)
	if due {
		o.next = now.Add(reapEvery)
	}
	o.mu.Unlock()
	if !due {
		return
	}
	if err := s.reap(ctx, others); err != nil && ctx.Err() == nil {
		s.o.Logger.WarnContext(ctx, "cannot free the claims of dead owners", "error", err)
	}
}

func (s *Store) reap(ctx context.Context, others []string) error {
	var failed []error
	for _, instance := range others {
		failed = append(failed, s.judge(ctx, instance))
	}
	return errors.Join(failed...)
}

// judge frees what an owner has claimed if it is dead. Of several who try, one
// gets the lock. An owner without a lock file cannot be judged, for example in
// a copy of the store: its leases end its claims, and then it is forgotten.
func (s *Store) judge(ctx context.Context, instance string) error {
	path := s.ownerFile(instance)
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return s.update(ctx, func(t *tx) error { return t.forget(instance) })
		}
		return fmt.Errorf("find lock of owner: %w", err)
	}
	lock, err := oslock.TryLock(path)
	if errors.Is(err, oslock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.update(ctx, func(t *tx) error { return t.dismiss(instance, "its process died during a pass") })
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	return removeLock(lock)
}

// dismiss frees the claims of an owner and forgets it. A reason counts as an
// error of each key that it worked on.
func (t *tx) dismiss(instance, reason string) error {
	var err error
	if reason == "" {
		err = t.exec("UPDATE queue INDEXED BY queue_claimed SET "+unclaimed+" WHERE claim_token IS NOT NULL AND claim_owner = ?", instance)
	} else {
		err = t.cutOff("claim_owner = ?", reason, instance)
	}
	if err != nil {
		return err
	}
	err = t.exec(`UPDATE workflow_run_queue INDEXED BY runs_claimed
		SET claim_token = NULL, claim_owner = NULL, claim_expires_at = NULL
		WHERE claim_token IS NOT NULL AND claim_owner = ?`, instance)
	if err != nil {
		return err
	}
	if err := t.exec("DELETE FROM workers WHERE claim_owner = ?", instance); err != nil {
		return err
	}
	return t.exec("DELETE FROM owners WHERE instance = ?", instance)
}

// forget removes an owner that claims nothing.
func (t *tx) forget(instance string) error {
	return t.exec(`DELETE FROM owners WHERE instance = ?1
		AND NOT EXISTS (SELECT 1 FROM queue INDEXED BY queue_claimed
			WHERE claim_token IS NOT NULL AND claim_owner = ?1)
		AND NOT EXISTS (SELECT 1 FROM workflow_run_queue INDEXED BY runs_claimed
			WHERE claim_token IS NOT NULL AND claim_owner = ?1)
		AND NOT EXISTS (SELECT 1 FROM workers WHERE claim_owner = ?1)`, instance)
}

// claimants returns the other owners that hold claims.
func (t *tx) claimants() ([]string, error) {
	list, err := t.names(`
		SELECT claim_owner FROM queue INDEXED BY queue_claimed
			WHERE claim_token IS NOT NULL AND claim_owner <> ?1
		UNION ALL
		SELECT claim_owner FROM workflow_run_queue INDEXED BY runs_claimed
			WHERE claim_token IS NOT NULL AND claim_owner <> ?1`, t.owner)
	slices.Sort(list)
	return slices.Compact(list), err
}
