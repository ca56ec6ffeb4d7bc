// Package storetest is the conformance kit of stores: what controller.Store and
// runqueue.Store promise, as tests that every implementation runs. Its parts are
// the contract (Run), processes that are killed at every durable step (Crash) and
// stores that fail (Faults). Package modeltest adds random operations.
package storetest

import (
	"context"
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

// Harness says how stores of one kind are opened and how their time passes. All
// functions are required and safe for concurrent use.
type Harness struct {
	// Place makes room for a new, empty database and names it: a folder, a schema
	// on a server. The name leads other processes there as well. A cleanup of the
	// test removes it.
	Place func(t testing.TB) string
	// Open opens the database of a place for a project, named by 24 hex digits.
	// Several stores, of several processes, may be open over one place; they share
	// its data and its clock, and look to each other like other processes.
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
	for _, test := range tests() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(newKit(t, h))
		})
	}
}

// test is one rule of the contracts.
type test struct {
	name string
	run  func(k *kit)
}

func tests() []test {
	var all []test
	for _, group := range [][]test{
		resourceTests, listTests, queueTests, attentionTests, waitTests, finishTests, deletionTests, effectTests, attemptTests, verdictTests,
		childTests, childContinuationTests, runTests, lifeTests, eventTests, changeTests, sourceTests, peerTests, crowdTests,
	} {
		all = append(all, group...)
	}
	return all
}
