package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

func TestConcurrentWritesShareOneCommit(t *testing.T) {
	t.Parallel()
	o := options(t)
	d := newDisk(&o)
	s := open(t, o)
	put(t, s, "a")
	commits, syncs := s.Transactions(), d.syncs.Load()
	together(t, s, 100, func(int) error { return wakeUp(t.Context(), s, "a") })
	if got := s.Transactions() - commits; got != 1 {
		t.Errorf("100 writes were %d transactions, want 1", got)
	}
	if got := d.syncs.Load() - syncs; got != 1 {
		t.Errorf("100 writes were %d syncs, want 1", got)
	}
	if got := events(t, s); got != 101 {
		t.Errorf("%d events, want 101", got)
	}
}

// A pass that nobody else works beside costs two transactions, of which only the
// one that ends it waits for the disk.
func TestLonePassIsTwoTransactions(t *testing.T) {
	t.Parallel()
	o := options(t)
	d := newDisk(&o)
	s := open(t, o)
	put(t, s, "a")
	commits, syncs := s.Transactions(), d.syncs.Load()
	c := claim(t, s)
	_, err := s.Finish(t.Context(), c, controller.Finish{
		Settle: true, Write: &controller.Write{Version: 1, ObservedGeneration: 1, ControllerStatus: json.RawMessage(`1`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Transactions() - commits; got != 2 {
		t.Errorf("a pass was %d transactions, want 2", got)
	}
	if got := d.syncs.Load() - syncs; got != 1 {
		t.Errorf("a pass was %d syncs, want 1", got)
	}
}

// To look for work and find none writes nothing and takes no lock.
func TestIdleClaimsDisturbNobody(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	db := rawOpen(t, o.Path)
	if err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	commits := s.Transactions()
	if c := claim(t, s); c != nil {
		t.Errorf("claimed %s", c.Ref)
	}
	if run, err := s.ClaimRun(t.Context(), runqueue.ClaimQuery{}, lasts); run != nil || err != nil {
		t.Errorf("claimed %+v, %v", run, err)
	}
	if got := s.Transactions() - commits; got != 0 {
		t.Errorf("%d transactions, want none", got)
	}
}

func TestARefusalUndoesNothingOfTheOthers(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	put(t, s, "a")
	commits := s.Transactions()
	together(t, s, 20, func(i int) error {
		key := []string{"a", "missing"}[i%2]
		err := wakeUp(t.Context(), s, key)
		if key == "missing" && errors.Is(err, controller.ErrNotFound) {
			return nil
		}
		return err
	})
	if got := s.Transactions() - commits; got != 1 {
		t.Errorf("%d transactions, want 1", got)
	}
	if got := events(t, s); got != 11 {
		t.Errorf("%d events, want 11", got)
	}
}

func TestWhoGivesUpBeforeItsTurnWritesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	put(t, s, "a")
	release := s.Hold()
	ctx, cancel := context.WithCancelCause(t.Context())
	given := make(chan error)
	go func() { given <- wakeUp(ctx, s, "a") }()
	s.AwaitQueued(1)
	reason := errors.New("enough")
	cancel(reason)
	if err := <-given; !errors.Is(err, reason) {
		t.Errorf("error %v", err)
	}
	release()
	if err := wakeUp(t.Context(), s, "a"); err != nil {
		t.Fatal(err)
	}
	if got := events(t, s); got != 2 {
		t.Errorf("%d events, want 2", got)
	}
}

func TestCloseAnswersThoseWhoQueue(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	put(t, s, "a")
	release := s.Hold()
	answers := make(chan error, 10)
	for range cap(answers) {
		go func() { answers <- wakeUp(t.Context(), s, "a") }()
	}
	s.AwaitQueued(cap(answers))
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	release()
	for range cap(answers) {
		if err := <-answers; err != nil && !errors.Is(err, sqlite.ErrClosed) {
			t.Errorf("error %v", err)
		}
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}

func TestBusyStoreIsATypedError(t *testing.T) {
	t.Parallel()
	o := sqlite.ImpatientOptions(options(t), 20*time.Millisecond)
	s := open(t, o)
	put(t, s, "a")
	db := rawOpen(t, o.Path)
	if err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	err := wakeUp(t.Context(), s, "a")
	var busy *sqlite.BusyError
	if !errors.As(err, &busy) || busy.Op != "enqueue" || busy.Waited != 20*time.Millisecond || busy.ErrorCode() != "store_busy" {
		t.Fatalf("error %v (%+v)", err, busy)
	}
	if _, err := s.Get(t.Context(), ref("a")); err != nil {
		t.Errorf("read while another process writes: %v", err)
	}
	if _, err := sqlite.Open(t.Context(), o); !errors.As(err, &busy) {
		t.Errorf("open while another process writes: %v", err)
	}
	if err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := wakeUp(t.Context(), s, "a"); err != nil {
		t.Errorf("after the other let go: %v", err)
	}
}

// Two processes that write all the time both get their turn.
func TestWritersLeaveRoomForEachOther(t *testing.T) {
	t.Parallel()
	o := options(t)
	first, second := open(t, o), open(t, o)
	put(t, first, "a")
	stop, cancel := context.WithCancel(t.Context())
	var greedy = make(chan error, 4)
	for range cap(greedy) {
		go func() {
			var err error
			for err == nil && stop.Err() == nil {
				err = wakeUp(t.Context(), first, "a")
			}
			greedy <- err
		}()
	}
	for range 20 {
		if err := wakeUp(t.Context(), second, "a"); err != nil {
			t.Error(err)
		}
	}
	cancel()
	for range cap(greedy) {
		if err := <-greedy; err != nil {
			t.Error(err)
		}
	}
}
