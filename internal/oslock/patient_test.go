package oslock_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"piworkflows/internal/oslock"
)

func TestPatientlyTakesTheLockOnceItIsFree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := oslock.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	var second *oslock.Lock
	err = oslock.Patiently(t.Context(), func() (err error) {
		if tries++; tries == 3 {
			if err := first.Unlock(); err != nil {
				return err
			}
		}
		second, err = oslock.TryLock(path)
		return err
	})
	if err != nil || tries != 3 {
		t.Fatalf("Patiently = %v after %d tries", err, tries)
	}
	if err := second.Unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestPatientlyGivesUpWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := oslock.Patiently(ctx, func() error { return &oslock.HeldError{Path: "lock"} })
	if !errors.Is(err, oslock.ErrHeld) {
		t.Fatalf("Patiently = %v, want the lock's own error", err)
	}
}

func TestPatientlyDoesNotRepeatOtherErrors(t *testing.T) {
	t.Parallel()
	broken, tries := errors.New("broken"), 0
	err := oslock.Patiently(t.Context(), func() error { tries++; return broken })
	if !errors.Is(err, broken) || tries != 1 {
		t.Fatalf("Patiently = %v after %d tries", err, tries)
	}
}
