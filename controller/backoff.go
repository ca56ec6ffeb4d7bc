package controller

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// maxDoublings keeps the power of two within a float64; a Max above it is
// reached by no key that lives.
const maxDoublings = 30

// Backoff shapes the delay after errors in a row. The zero Backoff has the
// defaults BackoffBase, BackoffMax and BackoffJitter.
//
// Spec: Controller contract, exponential backoff with jitter.
type Backoff struct {
	// Base is the delay after the first error, doubled after each further one
	// up to Max.
	Base, Max time.Duration
	// Jitter, from 0 to 1, is the share by which a delay is longer or shorter by
	// chance, so that keys that failed together do not come back together.
	Jitter float64
}

// Delay returns the wait after the n-th error in a row. r is a random number in
// [0, 1). The delay is at least a millisecond and may exceed Max by the jitter.
func (b Backoff) Delay(n int, r float64) time.Duration {
	doublings := min(max(n-1, 0), maxDoublings)
	delay := min(float64(b.Max), float64(b.Base)*math.Exp2(float64(doublings)))
	delay *= 1 + (2*r-1)*b.Jitter
	return max(time.Millisecond, time.Duration(delay).Round(time.Millisecond))
}

// orDefault replaces the zero Backoff as a whole: a Jitter of zero beside a set
// Base is meant.
func (b Backoff) orDefault() Backoff {
	if b == (Backoff{}) {
		return Backoff{Base: BackoffBase, Max: BackoffMax, Jitter: BackoffJitter}
	}
	return b
}

func (b Backoff) check() error {
	var problems []error
	if b.Base <= 0 || b.Max < b.Base {
		problems = append(problems, fmt.Errorf(
			"backoff from %s to %s: the base must be positive and not above the maximum", b.Base, b.Max))
	}
	// Written so that NaN is refused too.
	if !(b.Jitter >= 0 && b.Jitter <= 1) {
		problems = append(problems, fmt.Errorf("backoff jitter %v is not from 0 to 1", b.Jitter))
	}
	return errors.Join(problems...)
}
