package runbundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"piworkflows/internal/oslock"
)

// MarkInterrupted ends the bundle of a run whose owner is gone: what of the
// trace is whole is folded in, a torn line is cut off, and the run ends as
// failed with the event run_interrupted. A bundle that ended stays as it is; if
// its owner died before the projections showed it, they are brought up to date.
// A bundle whose owner lives is refused with an oslock.ErrHeld. The errors of
// Read come back as they are.
func MarkInterrupted(ctx context.Context, o Options, dir, reason string) (State, error) {
	b, err := Read(dir)
	if err != nil {
		return State{}, err
	}
	if b.State.Status.Terminal() && !b.stale {
		return b.State, nil
	}
	w, err := adopt(ctx, o.withDefaults(), dir, nil)
	if err != nil {
		return State{}, fmt.Errorf("interrupt run %s: %w", b.State.RunID, err)
	}
	if !w.state.Status.Terminal() {
		_, err = w.Append(ctx, Draft{At: w.o.Clock.Now(), Payload: RunInterrupted{Error: reason}})
	}
	if err != nil {
		return State{}, errors.Join(err, w.release(false))
	}
	s, err := w.State()
	return s, errors.Join(err, w.Close())
}

// Open becomes the owner of the bundle of a run that has not ended: its last
// owner parked it, or died. What of the trace is whole is folded in, a torn line
// is cut off. Before anything is changed, admit (which may be nil) is asked with
// the lock held, and its error refuses; it must not keep the bundle, which holds
// every event. The errors of Read come back as they are; a run that has ended
// gives an *EndedError, and if its owner died before the projections showed the
// end, they are brought up to date; an owner that lives gives an oslock.ErrHeld.
func Open(ctx context.Context, o Options, dir string, admit func(*Bundle) error) (*Writer, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if m.Status.Terminal() { // it comes last, so all of the bundle shows the end
		return nil, &EndedError{RunID: m.RunID, Status: m.Status}
	}
	w, err := adopt(ctx, o.withDefaults(), dir, admit)
	if err != nil {
		return nil, fmt.Errorf("open the bundle of run %s: %w", m.RunID, err)
	}
	if w.ended {
		ended := &EndedError{RunID: m.RunID, Status: w.state.Status}
		return nil, errors.Join(ended, w.Close())
	}
	return w, nil
}

// Owned reports whether a process writes a bundle now, which is known at once when
// that process dies. It is a look: the answer may be old when it arrives.
func Owned(dir string) (bool, error) {
	held, err := oslock.HeldDir(dir)
	if err != nil {
		return false, fmt.Errorf("look for the owner of bundle %s: %w", dir, err)
	}
	return held, nil
}

// adopt becomes the owner of an existing bundle and repairs it. A run that has
// not ended must be admitted, if there is somebody to ask.
func adopt(ctx context.Context, o Options, dir string, admit func(*Bundle) error) (*Writer, error) {
	lock, err := oslock.TryLockDir(dir)
	if err != nil {
		return nil, err // it names the lock, the caller the run
	}
	w := newWriter(o, dir, State{})
	w.lock = lock
	if err := w.takeOver(ctx, admit); err != nil {
		return nil, errors.Join(err, w.release(false))
	}
	return w, nil
}

func (w *Writer) takeOver(ctx context.Context, admit func(*Bundle) error) error {
	if err := w.o.Fence(ctx); err != nil {
		return err
	}
	b, err := Read(w.dir) // again: until now somebody else may have been the owner
	if err != nil {
		return err
	}
	w.state, w.manifest, w.stale = b.State, b.Manifest, b.stale
	w.ended = b.State.Status.Terminal()
	if admit != nil && !w.ended {
		if err := admit(b); err != nil {
			return err
		}
	}
	if err := w.tidy(b); err != nil {
		return err
	}
	return w.begin()
}

// tidy removes what a killed owner left half done.
func (w *Writer) tidy(b *Bundle) error {
	if b.Torn {
		if err := w.o.FS.Truncate(w.path(traceFile), b.whole); err != nil {
			return fmt.Errorf("cut off a torn line: %w", err)
		}
	}
	for _, dir := range []string{w.dir, w.path(artifactsDir)} {
		if err := w.removeTemporary(dir); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) removeTemporary(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for temporary files: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".tmp") || !entry.Type().IsRegular() {
			continue
		}
		if err := w.o.FS.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove a temporary file: %w", err)
		}
	}
	return nil
}

// QuarantineIncomplete moves the folder of a start that was never finished, one
// without a manifest, out of the way of a new start under the same run ID, and
// returns where to; "" if there is no such folder. Readers do not see either. A
// folder with a manifest gives an *ExistsError, or what is wrong with the
// manifest; one whose start is going on in another process an oslock.ErrHeld.
// The unique part, a random UUID, keeps several of them apart.
func QuarantineIncomplete(o Options, root, runID, unique string) (moved string, err error) {
	o = o.withDefaults()
	if err := CheckRunID(runID); err != nil {
		return "", err
	}
	dir := filepath.Join(root, runID)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	_, err = ReadManifest(dir)
	switch {
	case err == nil:
		return "", &ExistsError{RunID: runID, Dir: dir}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	lock, err := oslock.TryLockDir(dir)
	if err != nil {
		return "", fmt.Errorf("quarantine the unfinished bundle of run %s: %w", runID, err)
	}
	// Before the move: Windows moves no folder with an open file. Nobody else
	// starts this run, as its claim is ours.
	if err := lock.Remove(); err != nil {
		return "", fmt.Errorf("quarantine the unfinished bundle of run %s: %w", runID, err)
	}
	moved = filepath.Join(root, fmt.Sprintf(".%s.incomplete-%s", runID, unique[:min(len(unique), nameLength)]))
	if err := errors.Join(o.FS.Rename(dir, moved), o.FS.SyncDir(root)); err != nil {
		return "", fmt.Errorf("quarantine the unfinished bundle of run %s: %w", runID, err)
	}
	return moved, nil
}
