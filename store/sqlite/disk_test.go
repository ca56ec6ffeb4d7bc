package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"piworkflows/controller"
	"piworkflows/store/sqlite"
)

// disk is a disk that can be made to fail.
type disk struct {
	err   atomic.Pointer[error] // of every write, sync and truncation
	ops   atomic.Int64
	syncs atomic.Int64
	// after is how many operations succeed before err.
	after atomic.Int64
	// failNext counts how many syncs are to fail with err, if it is not negative.
	failNext atomic.Int64
}

func newDisk(o *sqlite.Options) *disk {
	d := &disk{}
	d.failNext.Store(-1)
	o.Fault = d.fault
	return d
}

func (d *disk) breakWith(err error) { d.err.Store(&err) }

// breakAfter lets n operations succeed before all fail.
func (d *disk) breakAfter(n int64, err error) {
	d.after.Store(d.ops.Load() + n)
	d.breakWith(err)
}

func (d *disk) mend() { d.err.Store(nil) }

func (d *disk) fault(op, _ string) error {
	if op == "open" {
		return nil
	}
	if op == "sync" {
		d.syncs.Add(1)
	}
	err := d.err.Load()
	if d.ops.Add(1) <= d.after.Load() || err == nil {
		return nil
	}
	if left := d.failNext.Load(); left >= 0 {
		if op != "sync" || left == 0 {
			return nil
		}
		d.failNext.Add(-1)
	}
	return *err
}

func TestBrokenDiskIsATypedErrorAndTheStoreGoesOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cause          error
		full, readOnly bool
		code           string
	}{
		{syscall.ENOSPC, true, false, "disk_full"},
		{syscall.EROFS, false, true, "read_only"},
		{syscall.EIO, false, false, "disk_error"},
	} {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			d := newDisk(&o)
			s := open(t, o)
			put(t, s, "a")
			c := claim(t, s)
			for range 3 {
				d.breakWith(test.cause)
				for what, err := range map[string]error{
					"Enqueue": wakeUp(t.Context(), s, "a"),
					"Renew":   s.Renew(t.Context(), c, lasts),
				} {
					var disk *sqlite.DiskError
					if !errors.As(err, &disk) || disk.Full != test.full || disk.ReadOnly != test.readOnly ||
						disk.ErrorCode() != test.code || disk.Path != o.Path {
						t.Fatalf("%s: %v (%+v)", what, err, disk)
					}
				}
				if _, err := s.Get(t.Context(), ref("a")); err != nil {
					t.Errorf("read on a broken disk: %v", err)
				}
				d.mend()
				if err := s.Renew(t.Context(), c, lasts); err != nil {
					t.Fatalf("after the disk was mended: %v", err)
				}
			}
			if got := events(t, s); got != 1 {
				t.Errorf("%d events, want only that of the put", got)
			}
		})
	}
}

func events(t *testing.T, s *sqlite.Store) int {
	t.Helper()
	list, err := s.Events(t.Context(), controller.EventQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// The disk breaks at any moment while a store is made and closed again; what
// there is of the file is no obstacle for the next try.
func TestStoreIsMadeOnADiskThatBreaks(t *testing.T) {
	t.Parallel()
	for n, whole := int64(0), false; !whole; n++ {
		o := options(t)
		d := newDisk(&o)
		d.breakAfter(n, syscall.ENOSPC)
		s, err := sqlite.Open(t.Context(), o)
		if err == nil {
			err = s.Close()
		}
		if whole = d.ops.Load() <= n; !whole && err != nil {
			var disk *sqlite.DiskError
			if !errors.As(err, &disk) || !disk.Full {
				t.Fatalf("operation %d: %v, want a full disk", n, err)
			}
		}
		d.mend()
		s = open(t, o)
		put(t, s, "a")
		if err := s.Close(); err != nil {
			t.Fatalf("after operation %d failed: %v", n, err)
		}
		if got := pragma(t, o.Path, "integrity_check"); got != "ok" {
			t.Fatalf("after operation %d failed: %s", n, got)
		}
	}
}

func TestFullFileIsAFullDisk(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.MaxPages = 100
	s := open(t, o)
	put(t, s, "a")
	large := controller.Put{Ref: ref("b"), Spec: json.RawMessage(`"` + strings.Repeat("x", 500_000) + `"`)}
	for range 3 {
		var disk *sqlite.DiskError
		if _, err := s.Put(t.Context(), large); !errors.As(err, &disk) || !disk.Full {
			t.Fatalf("error %v, want a full disk", err)
		}
		if err := wakeUp(t.Context(), s, "a"); err != nil {
			t.Fatalf("a write that fits: %v", err)
		}
	}
	if got := events(t, s); got != 4 {
		t.Errorf("%d events, want 4", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.MaxPages = 0
	if _, err := open(t, o).Put(t.Context(), large); err != nil {
		t.Errorf("with more space: %v", err)
	}
}

// The large write of a group finds the disk full; the others do not suffer.
func TestFullDiskHitsOnlyWhoNeedsSpace(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.MaxPages = 100
	s := open(t, o)
	put(t, s, "a")
	spec := json.RawMessage(`"` + strings.Repeat("x", 500_000) + `"`)
	together(t, s, 9, func(i int) error {
		if i%3 != 0 {
			return wakeUp(t.Context(), s, "a")
		}
		_, err := s.Put(t.Context(), controller.Put{Ref: ref(strconv.Itoa(i)), Spec: spec})
		if disk := (*sqlite.DiskError)(nil); !errors.As(err, &disk) || !disk.Full {
			return fmt.Errorf("error %w, want a full disk", err)
		}
		return nil
	})
	if got := events(t, s); got != 7 {
		t.Errorf("%d events, want 7", got)
	}
}

// A commit that fails is tried again, one by one; nobody pays for another.
func TestFailedCommitIsRepeatedOneByOne(t *testing.T) {
	t.Parallel()
	o := options(t)
	d := newDisk(&o)
	s := open(t, o)
	put(t, s, "a")
	d.failNext.Store(1)
	d.breakWith(syscall.EIO)
	together(t, s, 8, func(int) error { return wakeUp(t.Context(), s, "a") })
	if left := d.failNext.Load(); left != 0 {
		t.Errorf("%d syncs did not fail", left)
	}
	if got := events(t, s); got != 9 {
		t.Errorf("%d events, want 9", got)
	}
}

// together makes the store run n operations as one group.
func together(t *testing.T, s *sqlite.Store, n int, operation func(i int) error) {
	t.Helper()
	release := s.Hold()
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			if err := operation(i); err != nil {
				t.Error(err)
			}
		})
	}
	s.AwaitQueued(n)
	release()
	callers.Wait()
}
