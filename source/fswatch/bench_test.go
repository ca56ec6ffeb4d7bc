package fswatch_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/source/fswatch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what a test waits for.
const patience = 30 * time.Second

// bench is a watched folder. Each path is its own key.
type bench struct {
	t      *testing.T
	root   string
	source *fswatch.Source
	// ended has the error of a run that ended.
	ended chan error

	mu sync.Mutex
	// heard are the keys since they were asked for last, deliveries their number.
	heard      map[string]bool
	deliveries int
	degraded   string
	// next is when it looks at everything again.
	next   time.Time
	failed []error
	// refuse lets deliveries fail.
	refuse error
	news   chan struct{}
}

// mostKeys is how many keys may come in one delivery.
const mostKeys = 1000

// quick is short enough for a test, and long enough to gather something.
const quick = 5 * time.Millisecond

func newBench(t *testing.T, change func(*fswatch.Options)) *bench {
	t.Helper()
	b := &bench{t: t, root: filepath.Join(t.TempDir(), "root"), heard: map[string]bool{}, news: make(chan struct{}, 1)}
	b.mkdir(".")
	o := fswatch.Options{Root: b.root, Quiet: quick, Keys: func(path string) []string { return []string{path} }}
	if change != nil {
		change(&o)
	}
	b.source = fswatch.New("files", o)
	if err := b.source.Check("c"); err != nil {
		t.Fatal(err)
	}
	return b
}

// start runs the source as a host does.
func (b *bench) start(c clock.Clock) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.source.Run(ctx, b.intake(c)); close(ended) }()
	b.ended = ended
	b.t.Cleanup(func() {
		cancel()
		for range ended {
		}
	})
}

func (b *bench) intake(c clock.Clock) controller.Intake {
	return controller.Intake{
		Clock: c, Deliver: b.deliver, Refused: func(string) {},
		Failed:   func(err error) { b.change(func() { b.failed = append(b.failed, err) }) },
		Degraded: func(reason string) { b.change(func() { b.degraded = reason }) },
		Next:     func(at time.Time) { b.change(func() { b.next = at }) },
	}
}

func (b *bench) deliver(_ context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
	var err error
	b.change(func() {
		if err = b.refuse; err != nil {
			return
		}
		if len(d.Keys) > mostKeys {
			err = errors.New("too many keys at once")
		}
		b.deliveries++
		for _, key := range d.Keys {
			b.heard[key] = true
		}
	})
	return controller.DeliveryResult{Enqueued: len(d.Keys)}, err
}

func (b *bench) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// await waits until something holds.
func (b *bench) await(what string, holds func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for {
		b.mu.Lock()
		ok := holds()
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-b.news:
		case <-ctx.Done():
			b.t.Fatalf("waited in vain: %s (heard %q, degraded %q)", what, b.all(), b.degraded)
		}
	}
}

// want waits for these keys, and forgets what was heard.
func (b *bench) want(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.await("for "+key, func() bool { return b.heard[key] })
	}
	b.forget()
}

// wantOnly wants exactly these, in what was heard by now.
func (b *bench) wantOnly(keys ...string) {
	b.t.Helper()
	if got := b.all(); !slices.Equal(got, slices.Sorted(slices.Values(keys))) {
		b.t.Errorf("heard %q, want %q", got, keys)
	}
	b.forget()
}

func (b *bench) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.heard))
}

func (b *bench) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.heard)
	b.deliveries = 0
}

func (b *bench) path(name string) string { return filepath.Join(b.root, filepath.FromSlash(name)) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	b.must(os.WriteFile(b.path(name), []byte(text), 0o600))
}

func (b *bench) mkdir(name string) {
	b.t.Helper()
	b.must(os.MkdirAll(b.path(name), 0o700))
}

func (b *bench) rename(from, to string) {
	b.t.Helper()
	b.must(os.Rename(b.path(from), b.path(to)))
}

func (b *bench) remove(name string) {
	b.t.Helper()
	b.must(os.RemoveAll(b.path(name)))
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}
