package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/source/schedule"
	"piworkflows/store/sqlite"
	"piworkflows/testkit"
)

const owner = "report"

// bench runs a schedule over the store of a kit, on a clock that the test moves.
type bench struct {
	*testing.T

	kit   *testkit.Kit
	clock *clocktest.Manual
	store *sqlite.Store
	// source is the run that was started last.
	source *testkit.Source
	// slept is by how much the clock of the source went on while its timers stood
	// still.
	slept atomic.Int64
	next  time.Time
}

func newBench(t *testing.T, o schedule.Options, keys ...string) *bench {
	t.Helper()
	b := &bench{T: t}
	b.kit = testkit.New(t, testkit.Options{Definition: &controller.Definition{
		Name: owner, Sources: []controller.Source{sleepy{schedule.New("times", o), b}},
		Reconcile: func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
			return controller.RawResult{}, errors.New("no test runs a pass of it")
		},
	}})
	b.clock, b.store = b.kit.Clock, b.kit.Store()
	for _, key := range keys {
		b.kit.Apply(key, struct{}{})
	}
	return b
}

// sleepy is a source on a machine that sleeps, and tells the test when it goes on.
type sleepy struct {
	*schedule.Source

	b *bench
}

func (s sleepy) Run(ctx context.Context, in controller.Intake) error {
	in.Clock = sleeper{s.b}
	in.Next = func(at time.Time) { s.b.next = at }
	return s.Source.Run(ctx, in)
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// start runs the source as a host does, until it waits.
func (b *bench) start() {
	b.Helper()
	b.source = b.kit.Source("times")
	b.settle()
}

func (b *bench) stop() {
	b.Helper()
	if err := b.source.Stop(); !errors.Is(err, context.Canceled) {
		b.Errorf("Run = %v", err)
	}
}

// settle returns once the source waits for the clock: it has done all that is due.
func (b *bench) settle() {
	b.Helper()
	b.must(b.clock.AwaitTimers(b.Context(), 1))
}

// advance moves the clock in one go, as a machine that was suspended does.
func (b *bench) advance(d time.Duration) {
	b.Helper()
	b.clock.Advance(d)
	b.settle()
}

// notes are what the events say that happened since the last call, for all keys.
func (b *bench) notes(key string) (notes []string) {
	b.Helper()
	events, err := b.store.Events(b.Context(), controller.EventQuery{Controller: owner, Key: key, Limit: 10_000})
	b.must(err)
	for _, e := range events {
		if e.Type != controller.EventDelivered {
			continue
		}
		var payload struct{ Source, Note string }
		b.must(json.Unmarshal(e.Payload, &payload))
		notes = append(notes, payload.Note)
	}
	return notes
}

// sleeper is the clock of a machine that sleeps: its time goes on, its timers do
// not.
type sleeper struct{ b *bench }

func (s sleeper) Now() time.Time {
	return s.b.clock.Now().Add(time.Duration(s.b.slept.Load()))
}

func (s sleeper) NewTimer(d time.Duration) clock.Timer { return s.b.clock.NewTimer(d) }

// sleep has the machine sleep.
func (b *bench) sleep(d time.Duration) { b.slept.Add(int64(d)) }
