package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// telling is a herald over a store of its own, of which the test hears.
type telling struct {
	t     *testing.T
	store Store
	// told has each attempt; answer is what comes of the next ones.
	told   chan controller.Notice
	answer atomic.Pointer[error]
}

// answers says what comes of the next attempts.
func (k *telling) answers(err error) { k.answer.Store(&err) }

// tellingIn runs a test with a herald, in time that passes while all wait.
func tellingIn(t *testing.T, test func(k *telling)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		store, err := OpenStore(t.Context(), Paths{Project: dir, Store: filepath.Join(dir, "s")}, clock.System(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		k := &telling{t: t, store: store, told: make(chan controller.Notice, 1000)}
		k.answers(nil)
		o := Options{Notify: []NotifyHook{{Name: "pager", Argv: []string{"true"}}}}.withDefaults()
		h := o.heralds(store)[0]
		h.deliver = func(_ context.Context, n controller.Notice) error {
			answer := *k.answer.Load() // before the test hears of it, and gives another one
			k.told <- n
			return answer
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			(&Host{heralds: []*herald{h}}).tellPeople(ctx)
		}()
		defer func() {
			cancel()
			<-ended
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}()
		for cursor := controller.Cursor(""); cursor == ""; { // from now on
			time.Sleep(time.Millisecond) //nolint:forbidigo // it is not real
			if cursor, err = store.NoticeCursor(t.Context(), "pager"); err != nil {
				t.Fatal(err)
			}
		}
		test(k)
	})
}

func (k *telling) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *telling) ref(key string) controller.Ref { return controller.Ref{Controller: "job", Key: key} }

// claim makes a resource, or wakes it, and claims it.
func (k *telling) claim(key string) *controller.Claim {
	k.t.Helper()
	ctx := k.t.Context()
	_, err := k.store.Put(ctx, controller.Put{Ref: k.ref(key), Spec: json.RawMessage("{}")})
	k.must(err)
	_, err = k.store.Enqueue(ctx, k.ref(key), "")
	k.must(err)
	c, err := k.store.Claim(ctx, []string{"job"}, lease.DefaultDuration)
	k.must(err)
	if c == nil || c.Ref.Key != key {
		k.t.Fatalf("claim %+v", c)
	}
	return c
}

// finish ends a pass that says whether the resource is ready.
func (k *telling) finish(c *controller.Claim, ready controller.ConditionStatus) {
	k.t.Helper()
	m := c.Resource.Metadata
	_, err := k.store.Finish(k.t.Context(), c, controller.Finish{
		Settle: true,
		Pass:   controller.PassRecord{Type: controller.EventFinished},
		Write: &controller.Write{
			Version: m.ResourceVersion, ObservedGeneration: m.Generation, ControllerStatus: json.RawMessage("null"),
			Conditions: []controller.Condition{{
				Type: controller.Ready, Status: ready, Reason: "Said", Message: "so", ObservedGeneration: m.Generation,
				LastTransitionTime: time.Now().UTC().Truncate(time.Millisecond),
			}},
		},
	})
	k.must(err)
}

// next is the next attempt to tell, within a time.
func (k *telling) next(within time.Duration) controller.Notice {
	k.t.Helper()
	select {
	case n := <-k.told:
		return n
	case <-time.After(within): //nolint:forbidigo // it is not real
		k.t.Fatalf("nothing was told within %s", within)
		panic("unreachable")
	}
}

func (k *telling) silence(during time.Duration) {
	k.t.Helper()
	select {
	case n := <-k.told:
		k.t.Fatalf("told %+v", n)
	case <-time.After(during): //nolint:forbidigo // it is not real
	}
}

func TestWhatIsNotReadyIsToldOncePerTransition(t *testing.T) {
	t.Parallel()
	tellingIn(t, func(k *telling) {
		k.finish(k.claim("a"), controller.True)
		k.silence(2 * time.Minute)
		k.finish(k.claim("a"), controller.False)
		n := k.next(time.Minute)
		if n.Kind != controller.NoticeNotReady || n.Ref() != k.ref("a") || n.Message != "Said: so" {
			t.Errorf("notice %+v", n)
		}
		k.finish(k.claim("b"), controller.False)
		k.next(time.Minute)
		k.finish(k.claim("a"), controller.True)
		k.silence(2 * time.Minute)
		k.finish(k.claim("a"), controller.False)
		if again := k.next(time.Minute); again.ID == n.ID {
			t.Error("another transition has the same ID")
		}
	})
}

func TestWhatIsNotTakenIsToldAgainUnderItsID(t *testing.T) {
	t.Parallel()
	tellingIn(t, func(k *telling) {
		k.answers(errors.New("nobody there"))
		k.finish(k.claim("a"), controller.False)
		first := k.next(time.Minute)
		for range 3 {
			if again := k.next(time.Hour); again.ID != first.ID {
				t.Errorf("told %+v, want %s again", again, first.ID)
			}
		}
		k.answers(nil)
		k.next(time.Hour)
		k.silence(20 * time.Minute)

		k.answers(fmt.Errorf("%w: it answered 410", errNotifyRefused))
		k.finish(k.claim("b"), controller.False)
		k.next(time.Minute)
		k.silence(20 * time.Minute)
	})
}

func TestWhatIsOverIsNotTold(t *testing.T) {
	t.Parallel()
	tellingIn(t, func(k *telling) {
		k.answers(errors.New("nobody there"))
		k.finish(k.claim("a"), controller.False)
		k.next(time.Minute)
		k.finish(k.claim("a"), controller.True)
		k.silence(20 * time.Minute)
	})
}

func TestACrowdIsToldSlowly(t *testing.T) {
	t.Parallel()
	tellingIn(t, func(k *telling) {
		for i := range notifyBurst + 10 {
			k.finish(k.claim(fmt.Sprint("k", i)), controller.False)
		}
		began := time.Now()
		for range notifyBurst + 10 {
			k.next(time.Minute)
		}
		if took := time.Since(began); took < 9*notifyEvery || took > 12*notifyEvery {
			t.Errorf("%d notices in %s", notifyBurst+10, took)
		}
	})
}

func TestAnEffectInDoubtIsTold(t *testing.T) {
	t.Parallel()
	tellingIn(t, func(k *telling) {
		c := k.claim("a")
		_, _, err := k.store.ReserveEffect(k.t.Context(), c, controller.EffectReservation{
			Key: "ring", Kind: "bell", Generation: 1, RequestFingerprint: strings.Repeat("0", 64),
		})
		k.must(err)
		_, err = k.store.FinishEffect(k.t.Context(), c, controller.EffectOutcome{
			Key: "ring", State: controller.EffectIndeterminate, Error: "nobody heard it", Event: controller.EventEffectIndeterminate,
		})
		k.must(err)
		n := k.next(time.Minute)
		if n.Kind != controller.NoticeEffectInDoubt || n.Subject != "ring" || n.Message != "nobody heard it" {
			t.Errorf("notice %+v", n)
		}
	})
}

func TestADeletionThatIsStuckIsTold(t *testing.T) {
	t.Parallel()
	tellingIn(t, func(k *telling) {
		c := k.claim("a")
		m := c.Resource.Metadata
		_, err := k.store.Finish(k.t.Context(), c, controller.Finish{Settle: true, Write: &controller.Write{
			Version: m.ResourceVersion, ObservedGeneration: m.Generation, ControllerStatus: json.RawMessage("null"), Finalizers: []string{"hold"},
		}})
		k.must(err)
		_, err = k.store.RequestDeletion(k.t.Context(), controller.Deletion{Ref: k.ref("a")})
		k.must(err)
		k.silence(deletionStuck - time.Minute)
		if n := k.next(2 * time.Minute); n.Kind != controller.NoticeDeletionStuck || n.UID != m.UID {
			t.Errorf("notice %+v", n)
		}
	})
}

// asks lets a detached run wait for an answer.
func (k *telling) asks(runID string) {
	k.t.Helper()
	ctx := k.t.Context()
	k.must(k.store.QueueRun(ctx, runqueue.NewRun{RunID: runID, Workflow: "trip", Source: json.RawMessage("{}"), Input: json.RawMessage("1")}))
	c, err := k.store.ClaimRun(ctx, runqueue.ClaimQuery{Detached: true}, lease.DefaultDuration)
	k.must(err)
	k.must(k.store.AwaitAnswer(ctx, c))
}

func TestEachDetachedRunThatWaitsIsToldOnce(t *testing.T) {
	t.Parallel()
	tellingIn(t, func(k *telling) {
		k.asks("a")
		n := k.next(time.Minute)
		if n.Kind != controller.NoticeRunWaiting || n.Subject != "a" || n.Ref() != (controller.Ref{}) {
			t.Errorf("notice %+v", n)
		}
		k.asks("b")
		if other := k.next(time.Minute); other.ID == n.ID || other.Subject != "b" {
			t.Errorf("notice %+v after %+v", other, n)
		}
		k.silence(20 * time.Minute)
	})
}

// A run that got its answer, or is cancelled or forgotten, waits no more.
func TestARunThatWaitsNoMoreIsNotTold(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]func(context.Context, Store) error{
		"answered": func(ctx context.Context, s Store) error {
			return s.QueueRun(ctx, runqueue.NewRun{
				RunID: "next", Workflow: "trip", Source: json.RawMessage("{}"), Input: json.RawMessage("1"), ContinuationOf: "a",
			})
		},
		"cancelled": func(ctx context.Context, s Store) error { return s.WithdrawRun(ctx, "a", "nobody answers") },
		"forgotten": func(ctx context.Context, s Store) error {
			_, err := s.ForgetRun(ctx, "a")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tellingIn(t, func(k *telling) {
				k.answers(errors.New("nobody there"))
				k.asks("a")
				k.next(time.Minute)
				k.must(over(k.t.Context(), k.store))
				k.silence(20 * time.Minute)
			})
		})
	}
}
