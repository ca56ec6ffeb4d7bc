package schedule_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/source/schedule"
	"piworkflows/store/sqlite"
)

const owner = "report"

// bench runs a schedule over the real store, on a clock that the test moves.
type bench struct {
	*testing.T

	clock *clocktest.Manual
	// slept is by how much the clock of the source went on while its timers stood
	// still.
	slept  atomic.Int64
	store  *sqlite.Store
	source *schedule.Source

	stop    func()
	ended   chan error
	next    time.Time
	refused []string
	failed  []error
}

func newBench(t *testing.T, o schedule.Options, keys ...string) *bench {
	t.Helper()
	b := &bench{T: t, clock: clocktest.New(), source: schedule.New("times", o)}
	b.must(b.source.Check(owner))
	var err error
	b.store, err = sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(t.TempDir(), "store.sqlite"), Scope: strings.Repeat("0", 24), Clock: b.clock,
	})
	b.must(err)
	t.Cleanup(func() { b.must(b.store.Close()) })
	for _, key := range keys {
		b.put(key)
	}
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) put(key string) {
	b.Helper()
	_, err := b.store.Put(b.Context(), controller.Put{Ref: controller.Ref{Controller: owner, Key: key}, Spec: json.RawMessage(`{}`)})
	b.must(err)
}

// start runs the source as a host does, until it waits.
func (b *bench) start() {
	b.Helper()
	b.run()
	b.settle()
}

// run runs the source.
func (b *bench) run() {
	b.Helper()
	cursor, err := b.store.SourceCursor(b.Context(), owner, b.source.Name())
	b.must(err)
	ctx, cancel := context.WithCancel(b.Context())
	b.ended = make(chan error, 1)
	go func() {
		b.ended <- b.source.Run(ctx, controller.Intake{
			Controller: owner, Cursor: cursor, Clock: sleeper{b}, Feed: b.store,
			Deliver: func(ctx context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
				d.Source = b.source.Name()
				return b.store.Deliver(ctx, owner, d)
			},
			Refused: func(reason string) { b.refused = append(b.refused, reason) },
			Failed:  func(err error) { b.failed = append(b.failed, err) },
			Next:    func(at time.Time) { b.next = at },
		})
	}()
	b.stop = func() { cancel(); <-b.ended }
	b.Cleanup(func() { cancel() })
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
