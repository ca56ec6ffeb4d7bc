package resources_test

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
	"piworkflows/source/resources"
	"piworkflows/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The controller image follows the controller repository.
const (
	owner    = "image"
	followed = "repository"
)

// bench runs a source over the real store, in which the test acts for both
// controllers.
type bench struct {
	*testing.T

	clock  *clocktest.Manual
	store  *sqlite.Store
	source *resources.Source
	// came has what was delivered.
	came  chan controller.Delivery
	ended chan error
	stop  func()
}

func newBench(t *testing.T, keys resources.Mapper) *bench {
	t.Helper()
	b := &bench{
		T: t, clock: clocktest.New(), came: make(chan controller.Delivery, 100),
		source: resources.New("repositories", resources.Options{Controller: followed, Keys: keys}),
	}
	b.must(b.source.Check(owner))
	var err error
	b.store, err = sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(t.TempDir(), "store.sqlite"), Scope: strings.Repeat("0", 24), Clock: b.clock,
	})
	b.must(err)
	t.Cleanup(func() { b.must(b.store.Close()) })
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
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
				r, err := b.store.Deliver(ctx, owner, d)
				if err == nil {
					b.came <- d
				}
				return r, err
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

func (b *bench) put(name, key, spec string) {
	b.Helper()
	_, err := b.store.Put(b.Context(), controller.Put{Ref: controller.Ref{Controller: name, Key: key}, Spec: json.RawMessage(spec)})
	b.must(err)
}

// pass runs a pass of the followed controller that writes a status.
func (b *bench) pass(key, status string, conditions ...controller.Condition) {
	b.Helper()
	ref := controller.Ref{Controller: followed, Key: key}
	_, err := b.store.Enqueue(b.Context(), ref, "test")
	b.must(err)
	c, err := b.store.Claim(b.Context(), []string{followed}, time.Minute)
	b.must(err)
	if c == nil || c.Ref != ref {
		b.Fatalf("claimed %+v, want %s", c, ref)
	}
	for i := range conditions {
		conditions[i].ObservedGeneration = c.Resource.Metadata.Generation
	}
	_, err = b.store.Finish(b.Context(), c, controller.Finish{Settle: true, Write: &controller.Write{
		Version: c.Resource.Metadata.ResourceVersion, ObservedGeneration: c.Resource.Metadata.Generation,
		ControllerStatus: json.RawMessage(status), Conditions: conditions,
	}})
	b.must(err)
}

// settled puts resources of the followed controller and runs a pass for each.
func (b *bench) settled(keys ...string) {
	b.Helper()
	for _, key := range keys {
		b.put(followed, key, `{}`)
		b.pass(key, `1`)
	}
}

// want awaits the next delivery of keys.
func (b *bench) want(note string, keys ...string) {
	b.Helper()
	for d := range b.came {
		if len(d.Keys) == 0 {
			continue // the cursor moved
		}
		if strings.Join(d.Keys, " ") != strings.Join(keys, " ") || d.Note != note {
			b.Errorf("came %v (%s), want %v (%s)", d.Keys, d.Note, keys, note)
		}
		return
	}
}
