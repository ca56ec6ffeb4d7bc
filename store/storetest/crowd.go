package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

var crowdTests = []test{
	{"a crowd never works on one key at once", crowdOfPasses},
	{"a crowd never runs one run at once", crowdOfRuns},
	{"writes of a crowd are all there", crowdOfWrites},
}

const (
	crowdWorkers = 4
	crowdKeys    = 5
	crowdPasses  = 12
)

// crowdOfPasses lets workers of two processes fight for a few keys. Each pass
// raises a number in the status; a lost update or a second worker shows.
func crowdOfPasses(k *kit) {
	for i := range crowdKeys {
		k.put(strconv.Itoa(i), `{}`)
	}
	var busy [crowdKeys]atomic.Int32
	var left atomic.Int32
	left.Store(crowdKeys)
	work := func(w *kit) {
		for left.Load() > 0 && !w.Failed() {
			c := w.tryClaim()
			if c == nil {
				continue
			}
			var key int
			_, _ = fmt.Sscan(c.Ref.Key, &key)
			if busy[key].Add(1) != 1 {
				w.Errorf("two workers on %s", c.Ref)
			}
			passes := pass(w, c)
			busy[key].Add(-1)
			f := controller.Finish{Write: write(c, ""), Settle: passes == crowdPasses}
			f.Write.ControllerStatus = json.RawMessage(strconv.Itoa(passes))
			if done, err := w.Store.Finish(w.Context(), c, f); err != nil || done.Conflict {
				w.Errorf("finish %s: %+v, %v", c.Ref, done, err)
			}
			if passes == crowdPasses {
				left.Add(-1)
			}
		}
	}
	crowd(k, work)
	for i := range crowdKeys {
		equal(k, "status", string(k.get(strconv.Itoa(i)).Status.ControllerStatus), strconv.Itoa(crowdPasses))
	}
}

// pass reads the number in the status and returns the next.
func pass(w *kit, c *controller.Claim) int {
	var n int
	if json.Unmarshal(c.Resource.Status.ControllerStatus, &n) != nil {
		n = 0 // the initial status is no number
	}
	w.must(w.Store.CheckApply(w.Context(), c))
	return n + 1
}

// crowd runs work in several goroutines over this store and over a peer.
func crowd(k *kit, work func(w *kit)) {
	var workers sync.WaitGroup
	other := k.peer("")
	for range crowdWorkers {
		workers.Go(func() { work(k) })
		workers.Go(func() { work(other) })
	}
	workers.Wait()
}

func crowdOfRuns(k *kit) {
	c := k.started("a")
	for i := range crowdKeys {
		k.reserveChild(c, strconv.Itoa(i), fmt.Sprint("run-", i))
	}
	var claims sync.Map
	crowd(k, func(w *kit) {
		for run := w.tryClaimRun(); run != nil; run = w.tryClaimRun() {
			if _, again := claims.LoadOrStore(run.Row.RunID, run); again {
				w.Errorf("run %s was claimed twice", run.Row.RunID)
			}
			w.finishChild(run, controller.RunSucceeded)
		}
	})
	for i := range crowdKeys {
		equal(k, "status", k.run(fmt.Sprint("run-", i)).Status, runqueue.Done)
	}
}

// crowdOfWrites puts and wakes from all sides while somebody follows.
func crowdOfWrites(k *kit) {
	var turn atomic.Int32
	follow := k.start(func(ctx context.Context) error {
		next, seen := controller.Cursor(""), 0
		for seen < 2*crowdWorkers*crowdPasses {
			c, err := k.Store.Changes(ctx, next, controller.ChangeFilter{})
			if err != nil {
				return err
			}
			next, seen = c.Next, seen+len(c.Events)
		}
		return nil
	})
	crowd(k, func(w *kit) {
		for range crowdPasses {
			w.put(strconv.Itoa(int(turn.Add(1))), `{}`)
		}
	})
	if k.Failed() {
		follow.stop()
	}
	follow.end()
	equal(k, "resources", len(k.list("", 1000)), 2*crowdWorkers*crowdPasses)
}
