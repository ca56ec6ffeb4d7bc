// Package storetest is the conformance kit of stores: what controller.Store and
// runqueue.Store promise, as tests that every implementation runs.
package storetest

import (
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// Harness is one store under test, new and empty.
type Harness struct {
	// Store and Runs are the two contracts over the same data.
	Store controller.Store
	Runs  runqueue.Store
	// Advance moves the clock by which the store measures leases and delays.
	// It stands still otherwise, so that tests never wait for time.
	Advance func(time.Duration)
	// Peer opens the same data once more, as another process would: for the
	// same project if project is empty, else for another project of that name.
	// It shares the clock.
	Peer func(t *testing.T, project string) Harness
}

// Run tests a store against the contracts. open is called for every test; they
// run in parallel, each with a store of its own. What open, Peer and Fresh open
// is closed by a cleanup of the test that they get.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, test := range tests() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(&kit{T: t, Harness: open(t), open: open})
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
