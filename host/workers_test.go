package host_test

import (
	"context"
	"strings"
	"testing"

	"piworkflows/controller"
	"piworkflows/host"
)

// A session beside a host sees who runs the workers, and takes over when it ends.
func TestASessionTakesOverFromAHost(t *testing.T) {
	t.Parallel()
	dir, first, second := t.TempDir(), newWork(), newWork()
	w, other := openWorld(t, dir, first), openWorld(t, dir, second)
	stop := w.hosted(t, nil)
	w.put(t, "one", "quick")
	await(t, first.started)

	session, err := host.Join(t.Context(), other.options(), other.store)
	if err != nil {
		t.Fatal(err)
	}
	if now := session.Ready(t.Context()); now.Ready || now.Reasons[0].Code != host.UnreadyWorkers ||
		!strings.Contains(now.Reasons[0].Message, "process ") {
		t.Errorf("beside a host: %+v", now)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- session.Run(ctx) }()
	w.put(t, "two", "quick")
	await(t, first.started)
	stop()
	other.put(t, "three", "quick")
	await(t, second.started)
	if now := session.Ready(t.Context()); !now.Ready {
		t.Errorf("after the host: %+v", now)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if holder, err := other.store.Workers(t.Context()); err != nil || holder.Holder != "" {
		t.Errorf("the workers are held by %+v, %v", holder, err)
	}
	other.once(t)
	for _, key := range []string{"one", "two", "three"} {
		if ready, status := other.job(t, key); ready.Status != controller.True {
			t.Errorf("%s: %+v %+v", key, ready, status)
		}
	}
}
