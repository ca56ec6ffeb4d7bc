package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/internal/oslock"
	"piworkflows/lease"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

// deserted makes a claim of an owner that is gone: its lock is free although it
// never closed its store.
func deserted(t *testing.T, o sqlite.Options, key string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, key)
	if claim(t, s) == nil {
		t.Fatal("nothing to claim")
	}
	if err := s.Desert(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenFreesTheClaimsOfTheDead(t *testing.T) {
	t.Parallel()
	o := options(t)
	deserted(t, o, "a")
	s := open(t, o)
	if c := claim(t, s); c == nil || c.ConsecutiveErrors != 1 {
		t.Errorf("claim %+v, want one with an error counted", c)
	}
	if owners := query(t, rawOpen(t, o.Path), "SELECT instance FROM owners"); owners != s.Instance() {
		t.Errorf("owners %s, want only %s", owners, s.Instance())
	}
	locks, err := os.ReadDir(filepath.Dir(s.OwnerFile()))
	if err != nil || len(locks) != 1 {
		t.Errorf("locks %v, %v; want that of the open store", locks, err)
	}
}

// A reader, too, sees that what a dead host told of its sources is over.
func TestTheSourcesOfTheDeadAreStopped(t *testing.T) {
	t.Parallel()
	o := options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	status := controller.SourceStatus{
		SourceInfo: controller.SourceInfo{Controller: "c", Source: "s"}, State: controller.SourceDegraded, Reason: "slow",
	}
	if err := s.RecordSources(t.Context(), []controller.SourceStatus{status}); err != nil {
		t.Fatal(err)
	}
	o.ReadOnly = true
	reader := open(t, o)
	for _, want := range []controller.SourceState{controller.SourceDegraded, controller.SourceStopped} {
		told, err := reader.Sources(t.Context())
		if err != nil || len(told) != 1 || told[0].State != want {
			t.Errorf("Sources = %+v, %v; want %s", told, err, want)
		}
		if want == controller.SourceDegraded {
			err = s.Desert()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A clock that was set back would keep a lease alive; the lock of its owner tells
// that it is dead.
func TestAClockSetBackKeepsNoClaimOfTheDead(t *testing.T) {
	t.Parallel()
	o := options(t)
	deserted(t, o, "a")
	o.Clock.(*clocktest.Manual).Advance(-time.Hour)
	s := open(t, o)
	if row, err := s.Queue(t.Context(), ref("a")); err != nil || row.State != controller.QueueDelayed {
		t.Errorf("row %+v, %v; want one without a claim, due when it was due", row, err)
	}
	if _, err := s.RebuildQueue(t.Context()); err != nil { // who asks need not wait for the clock
		t.Fatal(err)
	}
	if c := claim(t, s); c == nil {
		t.Error("the key is not free")
	}
}

// A clock that was set forward ends every lease: whoever worked can write nothing
// any more, and the key is there for the next one at once.
func TestAClockSetForwardLosesClaimsAndNoWork(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	put(t, s, "a")
	c := claim(t, s)
	o.Clock.(*clocktest.Manual).Advance(time.Hour)
	if err := s.CheckApply(t.Context(), c); !errors.Is(err, lease.ErrLost) {
		t.Errorf("CheckApply = %v", err)
	}
	again := claim(t, s)
	if again == nil || again.ConsecutiveErrors != 1 {
		t.Fatalf("claim %+v", again)
	}
	if _, err := s.Finish(t.Context(), c, controller.Finish{Settle: true}); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Finish = %v", err)
	}
	if err := s.CheckApply(t.Context(), again); err != nil {
		t.Error(err)
	}
}

// Claims of the dead are freed for every project of the file.
func TestTheDeadAreReapedForAllProjects(t *testing.T) {
	t.Parallel()
	o := options(t)
	other := o
	other.Scope = scope[1:] + "0"
	deserted(t, other, "a")
	open(t, o)
	s := open(t, other)
	if claim(t, s) == nil {
		t.Error("the key is not free")
	}
}

// Waiting judges the owners of claims about once a second of the store's clock.
func TestWaitingJudgesOwners(t *testing.T) {
	t.Parallel()
	o := options(t)
	manual := o.Clock.(*clocktest.Manual)
	s := open(t, o)
	dying, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dying, "a")
	if claim(t, dying) == nil {
		t.Fatal("nothing to claim")
	}
	ended := make(chan error, 1)
	go func() { ended <- s.WaitDue(t.Context(), []string{"c"}) }()
	if err := manual.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := dying.Desert(); err != nil {
		t.Fatal(err)
	}
	manual.Advance(time.Second)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if claim(t, s) == nil {
		t.Error("the key is not free")
	}
}

func TestLivingOwnersKeepTheirClaims(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	put(t, s, "a")
	c := claim(t, s)
	for range 3 {
		if claim(t, open(t, o)) != nil {
			t.Fatal("the claim of a living owner was taken")
		}
	}
	if err := s.CheckApply(t.Context(), c); err != nil {
		t.Error(err)
	}
}

// Without its lock file nobody can tell whether an owner lives, for example in a
// copy of the store. Then the lease decides.
func TestOwnerWithoutLockIsNotJudged(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	put(t, s, "a")
	claim(t, s)
	if err := os.Remove(s.OwnerFile()); err != nil {
		t.Fatal(err)
	}
	other := open(t, o)
	if claim(t, other) != nil {
		t.Error("the claim was taken before its lease ended")
	}
	if _, err := os.Stat(s.OwnerFile()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("judging made a lock file: %v", err)
	}
	o.Clock.(*clocktest.Manual).Advance(lasts)
	if claim(t, other) == nil {
		t.Error("the claim outlived its lease")
	}
}

// Of many who find a dead owner one frees its claims, once.
func TestAStoreKnowsWhetherOthersWrite(t *testing.T) {
	t.Parallel()
	o := options(t)
	first := open(t, o)
	if !first.Alone() {
		t.Error("alone, a store sees others")
	}
	second := open(t, o)
	if first.Alone() || second.Alone() {
		t.Error("of two stores, one believes itself alone")
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if !first.Alone() {
		t.Error("after the other has closed, a store still sees it")
	}
	o.ReadOnly = true
	open(t, o)
	if !first.Alone() {
		t.Error("a store that only reads is taken for one that writes")
	}
}

func TestManyFindTheDead(t *testing.T) {
	t.Parallel()
	o := options(t)
	var dying []*sqlite.Store
	for i := range 3 {
		s, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, strconv.Itoa(i))
		if claim(t, s) == nil {
			t.Fatal("nothing to claim")
		}
		dying = append(dying, s)
	}
	for _, s := range dying {
		if err := s.Desert(); err != nil {
			t.Fatal(err)
		}
	}
	var openers sync.WaitGroup
	for range 4 {
		openers.Go(func() {
			s, err := sqlite.Open(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	openers.Wait()
	s := open(t, o)
	for i := range 3 {
		row, err := s.Queue(t.Context(), ref(strconv.Itoa(i)))
		if err != nil || row.State != controller.QueueReady || row.ConsecutiveErrors != 1 {
			t.Errorf("row %+v, %v; want a ready one with one error", row, err)
		}
	}
}

// A store that cannot give its claims back leaves its lock for others to find.
func TestLockStaysIfClosingFails(t *testing.T) {
	t.Parallel()
	o := options(t)
	d := newDisk(&o)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a")
	claim(t, s)
	d.breakWith(errors.New("no such luck"))
	var disk *sqlite.DiskError
	if err := s.Close(); !errors.As(err, &disk) {
		t.Errorf("close on a broken disk: %v", err)
	}
	d.mend()
	lock, err := oslock.TryLock(s.OwnerFile())
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if claim(t, open(t, o)) == nil {
		t.Error("the key is not free")
	}
}

// A run is adopted as soon as its owner is dead, by a store that was open all
// the time.
func TestARunOfADeadOwnerIsAdoptedAtOnce(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	dying, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dying.Launch(t.Context(), runqueue.NewRun{RunID: "run", Workflow: "w", Input: []byte(`{}`)}, lasts)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.AdoptRun(t.Context(), "run", "", lasts)
	held, ok := errors.AsType[*runqueue.HeldError](err)
	if !ok || !strings.Contains(held.Holder, strconv.Itoa(os.Getpid())) {
		t.Fatalf("adopt %v, want a HeldError that names the process", err)
	}
	if err := dying.Desert(); err != nil {
		t.Fatal(err)
	}
	taken, err := s.AdoptRun(t.Context(), "run", "", lasts)
	if err != nil || !taken.Interrupted || taken.Fence <= c.Fence {
		t.Errorf("adopt %+v, %v", taken, err)
	}
}
