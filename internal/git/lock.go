package git

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"piworkflows/internal/oslock"
)

const (
	// lockName is made in the common folder while the list of worktrees is read
	// or changed, and removed afterwards.
	lockName = "pi-workflows-worktrees.lock"
	lockPoll = 5 * time.Millisecond
)

// lockWorktrees keeps our calls that read or change the list of worktrees from
// overlapping: Git writes an entry file by file, and dies when it reads one that
// is half written. Other processes' Git is not kept out; its users see a failed
// call, which is tried again.
func (r *Repo) lockWorktrees(ctx context.Context) (unlock func(), err error) {
	path := filepath.Join(r.common, lockName)
	for {
		lock, err := oslock.TryLock(path)
		if err == nil {
			return func() { _ = lock.Remove() }, nil // released in any case when the process ends
		}
		if !errors.Is(err, oslock.ErrHeld) {
			return nil, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// pause waits before the next try: a lock between processes sends no signal.
func pause(ctx context.Context) error {
	timer := time.NewTimer(lockPoll) //nolint:forbidigo // the ground has no injected clock, and a lock is real
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
