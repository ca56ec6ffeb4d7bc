package resources_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"piworkflows/controller"
	"piworkflows/source/resources"
	"piworkflows/store/sqlite"
	"piworkflows/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The controller image follows the controller repository.
const (
	owner    = "image"
	followed = "repository"
)

// bench runs a source over the store of a kit, in which the test acts for both
// controllers.
type bench struct {
	*testing.T

	kit   *testkit.Kit
	store *sqlite.Store
	// source is the one that was started last.
	source *testkit.Source
}

func newBench(t *testing.T, keys resources.Mapper) *bench {
	t.Helper()
	kit := testkit.New(t, testkit.Options{Definition: &controller.Definition{
		Name:    owner,
		Sources: []controller.Source{resources.New("repositories", resources.Options{Controller: followed, Keys: keys})},
		Reconcile: func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
			return controller.RawResult{}, errors.New("no test runs a pass of it")
		},
	}})
	return &bench{T: t, kit: kit, store: kit.Store()}
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) start() {
	b.Helper()
	b.source = b.kit.Source("repositories")
}

func (b *bench) stop() {
	b.Helper()
	if err := b.source.Stop(); !errors.Is(err, context.Canceled) {
		b.Errorf("Run = %v", err)
	}
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
	d := b.source.Await()
	for len(d.Keys) == 0 {
		d = b.source.Await() // the cursor moved
	}
	if strings.Join(d.Keys, " ") != strings.Join(keys, " ") || d.Note != note {
		b.Errorf("came %v (%s), want %v (%s)", d.Keys, d.Note, keys, note)
	}
}
