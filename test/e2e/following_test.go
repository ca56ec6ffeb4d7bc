package e2e

import (
	"context"
	"strings"
	"testing"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/source/resources"
	"piworkflows/store/sqlite"
)

// TestTwoControllersThatFollowEachOtherComeToRest: a pass that changed nothing
// wakes nobody, or each would wake the other for ever.
func TestTwoControllersThatFollowEachOtherComeToRest(t *testing.T) {
	t.Parallel()
	follows := func(name, other string) *controller.Definition {
		return controller.Define(name, upstream{}, controller.WithSources(
			resources.New("other", resources.Options{Controller: other, Keys: resources.SameKey}),
		))
	}
	catalog, err := host.Definitions{Controllers: []*controller.Definition{follows("left", "right"), follows("right", "left")}}.Compile()
	mustNot(t, err)
	ctx, store, stop := startHost(t, t.TempDir(), catalog)

	// Each later key comes back from the other side: by then the first has had the
	// time for as many passes.
	for n := range 20 {
		key := strings.Repeat(wokenKey, n+1)
		for _, name := range []string{"left", "right"} {
			_, err := store.Put(ctx, controller.Put{Ref: controller.Ref{Controller: name, Key: key}, Spec: []byte(`{}`)})
			mustNot(t, err)
		}
		// What left did may be over before there is a key on the right to wake.
		awaitDelivery(ctx, t, store, controller.Ref{Controller: "left", Key: key})
	}
	for _, name := range []string{"left", "right"} {
		events, err := store.Events(ctx, controller.EventQuery{Controller: name, Key: wokenKey})
		mustNot(t, err)
		passes := 0
		for _, e := range events {
			if e.Type == controller.EventFinished {
				passes++
			}
		}
		const most = 4 // its own, and after the other was put, changed, and seen at the start
		if passes > most {
			t.Errorf("%s had %d passes", name, passes)
		}
	}
	stop()
}

// awaitDelivery waits until a source has woken a key.
func awaitDelivery(ctx context.Context, t *testing.T, store *sqlite.Store, ref controller.Ref) {
	t.Helper()
	for at := controller.Cursor(""); ; {
		changes, err := store.Changes(ctx, at, controller.ChangeFilter(ref))
		if err != nil {
			t.Fatalf("nothing woke %s: %v", ref, err)
		}
		for _, e := range changes.Events {
			if e.Type == controller.EventDelivered {
				return
			}
		}
		at = changes.Next
	}
}
