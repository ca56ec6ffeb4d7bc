// Package modeltest tests stores with random operations: in sequence against a
// model of the rules, and at once from several goroutines and stores, with a
// search for an order in which the rules allow every answer. It is a part of
// storetest that carries test libraries of others.
package modeltest

import (
	"testing"
	"time"

	"piworkflows/store/storetest"
)

// lasts is the lease of every claim in these tests, renewed that of one that was
// renewed.
const (
	lasts   = 30 * time.Second
	renewed = 2 * lasts
)

// Run tests stores of one kind: a bounded part as a rule, a long one if the
// environment variable PI_WORKFLOWS_STRESS is set. rapid's flags apply.
func Run(t *testing.T, h storetest.Harness) {
	t.Helper()
	t.Run("operations on keys follow the rules", func(t *testing.T) {
		t.Parallel()
		followRules(t, h, keysFollowRules)
	})
	t.Run("operations on runs follow the rules", func(t *testing.T) {
		t.Parallel()
		followRules(t, h, runsFollowRules)
	})
	t.Run("histories are linearizable", func(t *testing.T) {
		t.Parallel()
		linearizable(t, h)
	})
	for fault, broken := range brokenStores {
		t.Run("a store is found out that "+fault, func(t *testing.T) {
			t.Parallel()
			foundOut(t, h, broken)
		})
	}
}
