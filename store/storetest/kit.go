package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// lasts is the lease of every claim in these tests.
const lasts = 30 * time.Second

// name is the controller of most resources in these tests.
const name = "git-merge"

// kit is a test with a store. What a step must not fail at fails the test.
type kit struct {
	*testing.T

	Store   controller.Store
	Runs    runqueue.Store
	asked   *Faulty // both, and what was asked of it
	harness Harness
	place   string
}

// newKit opens a store in a place of its own.
func newKit(t *testing.T, h Harness) *kit {
	t.Helper()
	return openKit(t, h, t.TempDir(), Scope(""))
}

// openKit opens a store until the test ends.
func openKit(t *testing.T, h Harness, place, scope string) *kit {
	t.Helper()
	s, err := h.Open(t.Context(), place, scope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	asked := NewFaulty(s)
	return &kit{T: t, Store: asked, Runs: asked, asked: asked, harness: h, place: place}
}

// Scope makes a scope for Harness.Open from the name of a project.
func Scope(project string) string {
	const digits = 24
	sum := sha256.Sum256([]byte(project))
	return hex.EncodeToString(sum[:])[:digits]
}

// Advance moves the clock of the store.
func (k *kit) Advance(d time.Duration) {
	k.Helper()
	k.must(k.harness.Advance(k.place, d))
}

// peer opens the same data once more, as another process would: for the same
// project, or for another one.
func (k *kit) peer(project string) *kit {
	k.Helper()
	return openKit(k.T, k.harness, k.place, Scope(project))
}

// fresh opens a store in another place.
func (k *kit) fresh() *kit {
	k.Helper()
	return newKit(k.T, k.harness)
}

func ref(key string) controller.Ref { return controller.Ref{Controller: name, Key: key} }

func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// equal compares two values of any type.
func equal[T any](k *kit, what string, got, want T) {
	k.Helper()
	if !reflect.DeepEqual(got, want) {
		k.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// wantError finds an error of a type in a chain.
func wantError[E error](k *kit, err error) E {
	k.Helper()
	var found E
	if !errors.As(err, &found) {
		k.Fatalf("got error %v, want a %T", err, found)
	}
	return found
}

// wantKind is wantError for callers that do not look into the error.
func wantKind[E error](k *kit, err error) {
	k.Helper()
	_ = wantError[E](k, err)
}

// wantLost finds the error of a claim that no longer holds.
func (k *kit) wantLost(err error, reasons ...lease.Reason) {
	k.Helper()
	lost := wantError[*lease.LostError](k, err)
	if !slices.Contains(reasons, lost.Reason) {
		k.Errorf("claim lost as %s, want one of %v", lost.Reason, reasons)
	}
}

// wantCode finds the stable code of an error.
func (k *kit) wantCode(err error, code string) {
	k.Helper()
	var coded interface{ ErrorCode() string }
	if !errors.As(err, &coded) || coded.ErrorCode() != code {
		k.Errorf("got error %v, want one with code %s", err, code)
	}
}

func (k *kit) put(key, spec string) controller.PutResult {
	k.Helper()
	return k.putOf(ref(key), spec)
}

func (k *kit) putOf(r controller.Ref, spec string) controller.PutResult {
	k.Helper()
	result, err := k.Store.Put(k.Context(), controller.Put{
		Ref: r, Spec: json.RawMessage(spec), InitialStatus: json.RawMessage(`{"phase":"new"}`), Actor: "ada",
	})
	k.must(err)
	return result
}

func (k *kit) get(key string) controller.Raw {
	k.Helper()
	r, err := k.Store.Get(k.Context(), ref(key))
	k.must(err)
	return r
}

// tryClaim claims for the usual controller; nil if nothing is due.
func (k *kit) tryClaim() *controller.Claim {
	k.Helper()
	c, err := k.Store.Claim(k.Context(), []string{name}, lasts)
	k.must(err)
	return c
}

func (k *kit) claim(key string) *controller.Claim {
	k.Helper()
	c := k.tryClaim()
	if c == nil {
		k.Fatalf("nothing to claim, want %s", key)
	}
	equal(k, "claimed key", c.Ref, ref(key))
	return c
}

func (k *kit) wantNoClaim() {
	k.Helper()
	if c := k.tryClaim(); c != nil {
		k.Fatalf("claimed %s, want nothing to be due", c.Ref)
	}
}

// started puts a resource and claims it.
func (k *kit) started(key string) *controller.Claim {
	k.Helper()
	k.put(key, `{"n":1}`)
	return k.claim(key)
}

func (k *kit) finish(c *controller.Claim, f controller.Finish) controller.Finished {
	k.Helper()
	done, err := k.Store.Finish(k.Context(), c, f)
	k.must(err)
	return done
}

// settle ends a pass that changed nothing.
func (k *kit) settle(c *controller.Claim) controller.Finished {
	k.Helper()
	return k.finish(c, controller.Finish{Settle: true})
}

// failed is the end of a pass with an error.
func failed(text string, delay time.Duration) controller.Finish {
	return controller.Finish{
		Err: text, After: delay, Reason: controller.ReasonErrorBackoff,
		Pass: controller.PassRecord{Type: controller.EventFailed},
	}
}

// write is what a pass writes that changes the resource of a claim to a phase.
func write(c *controller.Claim, phase string) *controller.Write {
	r := c.Resource
	return &controller.Write{
		Version: r.Metadata.ResourceVersion, ObservedGeneration: r.Metadata.Generation,
		Conditions: r.Status.Conditions, Finalizers: r.Metadata.Finalizers,
		ControllerStatus: json.RawMessage(`{"phase":"` + phase + `"}`),
	}
}

func (k *kit) queue(key string) controller.QueueRow {
	k.Helper()
	row, err := k.Store.Queue(k.Context(), ref(key))
	k.must(err)
	return row
}

func (k *kit) enqueue(key string) {
	k.Helper()
	_, err := k.Store.Enqueue(k.Context(), ref(key), "ada")
	k.must(err)
}

func (k *kit) events(q controller.EventQuery) []controller.Event {
	k.Helper()
	list, err := k.Store.Events(k.Context(), q)
	k.must(err)
	return list
}

// eventTypes lists the types of all events of a key.
func (k *kit) eventTypes(key string) []controller.EventType {
	k.Helper()
	var types []controller.EventType
	for _, e := range k.events(controller.EventQuery{Controller: name, Key: key}) {
		types = append(types, e.Type)
	}
	return types
}

// lastEvent returns the payload of the newest event of a key, and checks its
// type.
func (k *kit) lastEvent(key string, want controller.EventType) map[string]any {
	k.Helper()
	list := k.events(controller.EventQuery{Controller: name, Key: key, Limit: 1})
	if len(list) != 1 {
		k.Fatalf("%d events of %s, want one", len(list), key)
	}
	equal(k, "type of the last event", list[0].Type, want)
	var payload map[string]any
	k.must(json.Unmarshal(list[0].Payload, &payload))
	return payload
}

// quiet runs f and checks that it leaves neither a changed resource nor an
// event behind.
func (k *kit) quiet(key string, f func()) {
	k.Helper()
	before, head := k.get(key), k.head()
	f()
	equal(k, "resource after nothing was to change", k.get(key), before)
	equal(k, "head after nothing was to happen", k.head(), head)
}

func (k *kit) head() controller.Cursor {
	k.Helper()
	c, err := k.Store.Head(k.Context())
	k.must(err)
	return c
}
