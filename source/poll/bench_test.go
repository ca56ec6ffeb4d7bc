package poll_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/source/poll"
	"piworkflows/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const owner = "pull-request"

// answer is what the outside answers.
type answer struct {
	seen poll.Observation
	err  error
	// hang waits for the deadline first.
	hang bool
}

// bench runs a poll over the real store, on a clock that the test moves, with an
// outside that answers as the test says.
type bench struct {
	*testing.T

	clock   *clocktest.Manual
	store   *sqlite.Store
	source  *poll.Source
	asked   chan string // the cursor of each observation
	answers chan answer
	judged  chan string // what Degraded was told after it
	failed  chan error
	ended   chan error
	next    time.Time
	stop    func()
}

func newBench(t *testing.T, o poll.Options) *bench {
	t.Helper()
	b := &bench{
		T: t, clock: clocktest.New(), asked: make(chan string), answers: make(chan answer),
		judged: make(chan string), failed: make(chan error, 100),
	}
	o.Random = func() float64 { return 0.5 } // no jitter
	o.Observe = b.observe
	b.source = poll.New("pulls", o)
	b.must(b.source.Check(owner))
	var err error
	b.store, err = sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(t.TempDir(), "store.sqlite"), Scope: strings.Repeat("0", 24), Clock: b.clock,
	})
	b.must(err)
	t.Cleanup(func() { b.must(b.store.Close()) })
	_, err = b.store.Put(t.Context(), controller.Put{Ref: controller.Ref{Controller: owner, Key: "k"}, Spec: json.RawMessage(`{}`)})
	b.must(err)
	b.start()
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) observe(ctx context.Context, cursor string) (poll.Observation, error) {
	select {
	case b.asked <- cursor:
	case <-ctx.Done():
		return poll.Observation{}, ctx.Err()
	}
	select {
	case a := <-b.answers:
		if a.hang {
			<-ctx.Done()
			return a.seen, ctx.Err()
		}
		return a.seen, a.err
	case <-ctx.Done():
		return poll.Observation{}, ctx.Err()
	}
}

func (b *bench) start() {
	b.Helper()
	cursor, err := b.store.SourceCursor(b.Context(), owner, b.source.Name())
	b.must(err)
	ctx, cancel := context.WithCancel(b.Context())
	b.ended = make(chan error, 1)
	go func() {
		b.ended <- b.source.Run(ctx, controller.Intake{
			Controller: owner, Cursor: cursor, Clock: b.clock, Feed: b.store,
			Deliver: func(ctx context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
				d.Source = b.source.Name()
				return b.store.Deliver(ctx, owner, d)
			},
			Failed: func(err error) { b.failed <- err },
			Next:   func(at time.Time) { b.next = at },
			Degraded: func(reason string) {
				select {
				case b.judged <- reason:
				case <-ctx.Done():
				}
			},
		})
	}()
	b.stop = func() {
		b.Helper()
		cancel()
		if err := <-b.ended; !errors.Is(err, context.Canceled) {
			b.Errorf("Run = %v", err)
		}
	}
	b.Cleanup(func() { cancel() })
}

// ask awaits an observation from a cursor, answers it, and returns once the source
// waits for the next, with what it said of its health.
func (b *bench) ask(cursor string, a answer) (degraded string) {
	b.Helper()
	if got := <-b.asked; got != cursor {
		b.Errorf("observed from the cursor %q, want %q", got, cursor)
	}
	b.answers <- a
	if a.hang {
		b.must(b.clock.AwaitTimers(b.Context(), 1))
		b.clock.Advance(poll.DefaultTimeout)
	}
	degraded = <-b.judged
	b.must(b.clock.AwaitTimers(b.Context(), 1))
	return degraded
}

// wait lets the wait of the source pass, and checks that it was that long.
func (b *bench) wait(d time.Duration) {
	b.Helper()
	b.clock.Advance(d - time.Millisecond)
	b.must(b.clock.AwaitTimers(b.Context(), 1)) // it still waits
	b.clock.Advance(time.Millisecond)
}

// notes are those of the deliveries of the key k.
func (b *bench) notes() (notes []string) {
	b.Helper()
	events, err := b.store.Events(b.Context(), controller.EventQuery{Controller: owner, Key: "k", Limit: 10_000})
	b.must(err)
	for _, e := range events {
		var payload struct{ Note string }
		if e.Type == controller.EventDelivered {
			b.must(json.Unmarshal(e.Payload, &payload))
			notes = append(notes, payload.Note)
		}
	}
	return notes
}
