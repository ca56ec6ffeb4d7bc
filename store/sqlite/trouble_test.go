package sqlite_test

import (
	"errors"
	"syscall"
	"testing"

	"piworkflows/store/sqlite"
)

func TestTheLastWriteTellsWhetherTheDiskTakesAny(t *testing.T) {
	t.Parallel()
	o := options(t)
	d := newDisk(&o)
	s := open(t, o)
	put(t, s, "a")
	if err := s.WriteError(); err != nil {
		t.Fatalf("before: %v", err)
	}
	d.breakWith(syscall.ENOSPC)
	if err := wakeUp(t.Context(), s, "a"); err == nil {
		t.Fatal("a write on a full disk went well")
	}
	if full, ok := errors.AsType[*sqlite.DiskError](s.WriteError()); !ok || !full.Full {
		t.Errorf("WriteError = %v, want a full disk", s.WriteError())
	}
	d.mend()
	if err := s.WriteError(); err == nil {
		t.Error("the trouble is over before a write was taken")
	}
	if err := wakeUp(t.Context(), s, "nobody"); err == nil || s.WriteError() == nil {
		t.Errorf("a write that changes nothing counts: %v", err)
	}
	if err := wakeUp(t.Context(), s, "a"); err != nil || s.WriteError() != nil {
		t.Errorf("after a write: %v, %v", err, s.WriteError())
	}
}
