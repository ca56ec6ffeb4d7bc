package testkit

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/store/sqlite"
	"piworkflows/workflow"
)

const (
	// lasts is how long claims last. It is so long that no test meets its end by
	// moving the clock: a claim ends with its process.
	lasts = 10 * 365 * 24 * time.Hour
	// endless is how many passes in a row are taken for a loop.
	endless = 200
	actor   = "test"
)

// Options say what a Kit runs. Definition is required.
type Options struct {
	Definition *controller.Definition
	// Workflows are those that the controller may ask for. The kit does not run
	// them: the test says how they end, see Kit.Child.
	Workflows []*workflow.Definition
	// Providers are those that the definition works with. A process that has died
	// calls none of them, and their calls stand in Kit.Trace.
	Providers []*Provider
}

// Kit runs the passes of one controller, in a process of their own that may die.
// Time stands still but for Clock. Its methods fail the test if something goes
// wrong that the test did not ask for, and belong to the goroutine of the test.
type Kit struct {
	// Clock is that of store and passes.
	Clock *clocktest.Manual

	t          T
	definition *controller.Definition
	scheduler  scheduler
	path       string
	// store is the one of the test, which does not die.
	store *sqlite.Store

	// mu guards what reconcilers and providers touch from goroutines of theirs.
	mu      sync.Mutex
	process *process
	trace   []string
	crash   *Crash
}

// New makes a kit with an empty store, which lasts as long as the test.
func New(t T, o Options) *Kit {
	t.Helper()
	dir, err := os.MkdirTemp("", "testkit-")
	if err != nil {
		t.Fatalf("make a folder for the store: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the store: %v", err)
		}
	})
	k := &Kit{
		Clock: clocktest.New(), t: t, definition: o.Definition, path: filepath.Join(dir, "controller.sqlite"),
	}
	if k.scheduler, err = newScheduler(o.Workflows); err != nil {
		t.Fatalf("workflows: %v", err)
	}
	for _, p := range o.Providers {
		p.join(k)
	}
	k.store = k.open()
	k.process = k.start()
	t.Cleanup(k.close)
	return k
}

func (k *Kit) open() *sqlite.Store {
	k.t.Helper()
	s, err := sqlite.Open(k.t.Context(), sqlite.Options{
		Path: k.path, Scope: strings.Repeat("0", 24), Clock: k.Clock,
	})
	if err != nil {
		k.t.Fatalf("open the store: %v", err)
	}
	return s
}

func (k *Kit) close() {
	k.t.Helper()
	k.process.end()
	for _, s := range []*sqlite.Store{k.process.store, k.store} {
		if err := s.Close(); err != nil {
			k.t.Errorf("close the store: %v", err)
		}
	}
}

// Store is the real store, for what the kit does not offer.
func (k *Kit) Store() *sqlite.Store { return k.store }

// Pass runs the pass that is due and reports whether there was one. A process that
// dies in it is one, too: the next pass runs in the next process.
func (k *Kit) Pass() bool {
	k.t.Helper()
	ran, err := k.process.pass()
	if k.process.dead() {
		k.restart()
		return true
	}
	if err != nil {
		k.t.Fatalf("run a pass: %v", err)
	}
	return ran
}

// Passes runs what is due now, and whatever that makes due at once. It returns
// how many passes there were.
func (k *Kit) Passes() int {
	k.t.Helper()
	for n := range endless {
		if !k.Pass() {
			return n
		}
	}
	k.t.Fatalf("%d passes, and another is due: does the controller ask for one whatever it finds? %s", endless, k.waiting())
	return endless
}

// Settle is Passes that also moves the clock to each delay, until no key waits. A
// controller that always looks again later never settles: use Advance for it.
func (k *Kit) Settle() (passes int) {
	k.t.Helper()
	for passes < endless {
		passes += k.Passes()
		b, err := k.store.Backlog(k.t.Context(), []string{k.definition.Name})
		if err != nil {
			k.t.Fatalf("look for what waits: %v", err)
		}
		if b.NextDue == nil {
			return passes
		}
		k.Clock.Advance(max(0, b.NextDue.Sub(k.Clock.Now())))
	}
	k.t.Fatalf("%d passes, and another is to come: does the controller always look again later? %s", passes, k.waiting())
	return passes
}

// waiting says which keys wait, and why.
func (k *Kit) waiting() string {
	page, err := k.store.List(k.t.Context(), controller.ListQuery{Queued: true, Limit: 10})
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, item := range page.Items {
		r := k.Resource(item.Resource.Metadata.Key)
		lines = append(lines, fmt.Sprintf("%s is %s", r.ref, r.row(item.Queue)))
	}
	return strings.Join(lines, "; ")
}

// Advance moves the clock, then runs what is due. It returns how many passes there
// were.
func (k *Kit) Advance(d time.Duration) int {
	k.t.Helper()
	k.Clock.Advance(d)
	return k.Passes()
}

// timeout is the deadline of a pass.
func (k *Kit) timeout() time.Duration {
	return cmp.Or(k.definition.Timeout, controller.DefaultTimeout)
}

// T is the test of the kit.
func (k *Kit) T() T { return k.t }
