package storetest

import (
	"context"
	"errors"
	"time"

	"piworkflows/controller"
)

var waitTests = []test{
	{"waiting ends at once if a key is due", waitDueNow},
	{"waiting ends with a wake-up", waitForWakeUp},
	{"waiting ends when a delay does", waitForDelay},
	{"waiting ends when a claim expires", waitForExpiry},
	{"waiting ends when a pass gives the key back", waitForRelease},
	{"waiting ends with its context", waitCancelled},
}

// waiting is a call that blocks.
type waiting struct {
	k     *kit
	ended chan error
	stop  context.CancelFunc
}

// start runs a call that is expected to block.
func (k *kit) start(call func(ctx context.Context) error) *waiting {
	ctx, stop := context.WithCancel(k.Context())
	w := &waiting{k: k, ended: make(chan error, 1), stop: stop}
	go func() { w.ended <- call(ctx) }()
	return w
}

// waitFor waits for keys of the usual controller.
func (k *kit) waitFor() *waiting {
	return k.start(func(ctx context.Context) error { return k.Store.WaitDue(ctx, []string{name}) })
}

func (w *waiting) end() {
	w.k.Helper()
	w.k.must(<-w.ended)
}

// pending fails if the call has ended. It cannot prove that it never will.
func (w *waiting) pending() {
	w.k.Helper()
	select {
	case err := <-w.ended:
		w.k.Fatalf("waiting ended too early (%v)", err)
	default:
	}
}

func waitDueNow(k *kit) {
	k.put("a", `{}`)
	k.must(k.Store.WaitDue(k.Context(), []string{"other", name}))
}

func waitForWakeUp(k *kit) {
	k.settle(k.started("a"))
	w := k.waitFor()
	k.putOf(controller.Ref{Controller: "other", Key: "a"}, `{}`)
	w.pending()
	k.enqueue("a")
	w.end()
	k.claim("a")
}

func waitForDelay(k *kit) {
	k.finish(k.started("a"), failed("no", lasts))
	w := k.waitFor()
	k.Advance(lasts - time.Millisecond)
	w.pending()
	k.Advance(time.Millisecond)
	w.end()
	k.claim("a")
}

func waitForExpiry(k *kit) {
	k.started("a")
	w := k.waitFor()
	k.Advance(lasts - time.Millisecond)
	w.pending()
	k.Advance(time.Millisecond)
	w.end()
	k.claim("a")
}

func waitForRelease(k *kit) {
	c := k.started("a")
	w := k.waitFor()
	w.pending()
	k.finish(c, controller.Finish{Reason: controller.ReasonRequested})
	w.end()
	k.claim("a")
}

func waitCancelled(k *kit) {
	calls := map[string]func(ctx context.Context) error{
		"WaitDue":  func(ctx context.Context) error { return k.Store.WaitDue(ctx, []string{name}) },
		"WaitRuns": k.waitRuns,
		"Changes": func(ctx context.Context) error {
			_, err := k.Store.Changes(ctx, "", controller.ChangeFilter{})
			return err
		},
	}
	for what, call := range calls {
		w := k.start(call)
		w.pending()
		w.stop()
		if err := <-w.ended; !errors.Is(err, context.Canceled) {
			k.Errorf("%s ended with %v", what, err)
		}
	}
}
