package poll_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/source/poll"
	"piworkflows/testkit"
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

// bench runs a poll over the store of a kit, on a clock that the test moves, with
// an outside that answers as the test says.
type bench struct {
	*testing.T

	kit   *testkit.Kit
	clock *clocktest.Manual
	// source is the run that was started last.
	source  *testkit.Source
	asked   chan string // the cursor of each observation
	answers chan answer
	judged  chan string // what Degraded was told after it
	failed  chan error
	next    time.Time
}

func newBench(t *testing.T, o poll.Options) *bench {
	t.Helper()
	b := &bench{
		T: t, asked: make(chan string), answers: make(chan answer), judged: make(chan string), failed: make(chan error, 100),
	}
	o.Random = func() float64 { return 0.5 } // no jitter
	o.Observe = b.observe
	b.kit = testkit.New(t, testkit.Options{Definition: &controller.Definition{
		Name: owner, Sources: []controller.Source{heard{poll.New("pulls", o), b}},
		Reconcile: func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
			return controller.RawResult{}, errors.New("no test runs a pass of it")
		},
	}})
	b.clock = b.kit.Clock
	b.kit.Apply("k", struct{}{})
	b.start()
	return b
}

// heard is a source whose test hears at once what it says of itself.
type heard struct {
	*poll.Source

	b *bench
}

func (h heard) Run(ctx context.Context, in controller.Intake) error {
	in.Failed = func(err error) { h.b.failed <- err }
	in.Next = func(at time.Time) { h.b.next = at }
	in.Degraded = func(reason string) {
		select {
		case h.b.judged <- reason:
		case <-ctx.Done():
		}
	}
	return h.Source.Run(ctx, in)
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
	b.source = b.kit.Source("pulls")
}

func (b *bench) stop() {
	b.Helper()
	if err := b.source.Stop(); !errors.Is(err, context.Canceled) {
		b.Errorf("Run = %v", err)
	}
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
	events, err := b.kit.Store().Events(b.Context(), controller.EventQuery{Controller: owner, Key: "k", Limit: 10_000})
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
