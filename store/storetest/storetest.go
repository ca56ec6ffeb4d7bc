// Package storetest is the conformance kit of stores: what controller.Store and
// runqueue.Store promise, as tests that every implementation runs. Its parts are
// the contract (Run), processes that are killed at every durable operation (Crash),
// and a store that fails when it is told to, for the tests of those who use one
// (Faulty). Package modeltest adds random operations.
package storetest

import (
	"context"
	"os"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// Store is what an implementation provides: both contracts over the same data.
type Store interface {
	controller.Store
	runqueue.Store
	// Close ends the store and gives back what it has claimed.
	Close() error
}

// Harness says how stores of one kind are opened and how their time passes. Both
// functions are required and safe for concurrent use.
type Harness struct {
	// Open opens the database of a place for a project, named by 24 hex digits, and
	// makes it if it is missing. The place is a folder of the test, which is there
	// and ends with it: the database lies in it, or on a server under a name made
	// of its path. Several stores, of several processes, may be open over one place;
	// they share its data and its clock, and look to each other like other
	// processes.
	Open func(ctx context.Context, place, scope string) (Store, error)
	// Advance moves the clock by which the stores of a place measure leases and
	// delays: at once for those of this process, and for those of a process that
	// begins later. It stands still otherwise, so that tests never wait for time.
	Advance func(place string, d time.Duration) error
}

// Run tests stores against the contracts. The tests run in parallel, each in a
// place of its own.
func Run(t *testing.T, h Harness) {
	t.Helper()
	var asked asked
	for _, test := range tests() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, h)
			defer asked.add(k)
			test.run(k)
		})
	}
	t.Cleanup(func() { asked.check(t, len(tests())) })
}

// Stressed reports whether the long parts of the kit are asked for, with the
// environment variable PI_WORKFLOWS_STRESS.
func Stressed() bool { return os.Getenv("PI_WORKFLOWS_STRESS") != "" }

// test is one rule of the contracts.
type test struct {
	name string
	run  func(k *kit)
}

func tests() []test {
	var all []test
	for _, group := range [][]test{
		resourceTests, listTests, queueTests, attentionTests, waitTests, finishTests, nextTests,
		deletionTests, effectTests, attemptTests, verdictTests, restoredTests, definitionTests, noticeTests,
		childTests, childCancelTests, childContinuationTests, runTests, lifeTests, detachedTests, workersTests,
		eventTests, changeTests, pruneTests, sourceTests, peerTests, crowdTests,
	} {
		all = append(all, group...)
	}
	return all
}
