// Package poll is a source that looks at something outside again and again, for
// outsides that tell nothing when they change, and for those whose messages get
// lost.
//
//	poll.New("pulls", poll.Options{Every: 5 * time.Minute, Observe: openPullRequests})
//
// docs/sources.md describes it.
//
// Spec: Sources and workers.
package poll

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

// DefaultTimeout is the deadline of one observation.
const DefaultTimeout = time.Minute

// MaxRetryAfter is the longest wait that the outside may ask for.
const MaxRetryAfter = 24 * time.Hour

// Options say what is observed, and how often. Every and Observe are required.
type Options struct {
	// Every is the time between the end of one observation and the beginning of the
	// next, a second or more. The first begins with the host.
	Every time.Duration
	// Observe looks at the outside.
	Observe Observer
	// Timeout is the deadline of one observation; DefaultTimeout if it is zero.
	Timeout time.Duration
	// Backoff shapes the waits after observations that failed. The zero Backoff
	// begins with a second, and ends with Every or a minute, whichever is longer.
	Backoff controller.Backoff
	// Random makes the jitter of Backoff, from 0 to 1; math/rand by default.
	Random func() float64
}

// Observer looks at the outside. The cursor is the one that it returned last, and
// empty at first. An error is tried again with growing delays; one that has a
// method RetryAfter not before that. It must return soon after ctx ended.
type Observer func(ctx context.Context, cursor string) (Observation, error)

// Observation is what was seen.
type Observation struct {
	// Keys are the resources to look at, at most controller.MaxDeliveryKeys.
	// Observe returns those for which something changed, if it can tell.
	Keys []string
	// Cursor is where the next observation goes on, such as an ETag or the time of
	// the newest change, at most 16 KiB. It is kept together with the wake-up of the keys. Empty
	// keeps the one before.
	Cursor string
	// Note tells people what was seen; see controller.Delivery.
	Note string
}

// RetryAfter is an optional ability of an error: the outside said how long to
// leave it alone. See Later.
type RetryAfter interface {
	error
	RetryAfter() time.Duration
}

// Later adds to an error how long the outside asks to be left alone, for example
// from HTTPDelay. The zero or a negative d adds nothing.
func Later(err error, d time.Duration) error {
	if err == nil || d <= 0 {
		return err
	}
	return &laterError{err, d}
}

type laterError struct {
	error
	after time.Duration
}

func (e *laterError) Unwrap() error             { return e.error }
func (e *laterError) RetryAfter() time.Duration { return e.after }

// Source is a controller.Source. Make one with New.
type Source struct {
	name    string
	options Options
}

// New makes a source. What is wrong with the options is found by Check, which
// controller.NewRegistry calls.
func New(name string, o Options) *Source {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Backoff == (controller.Backoff{}) {
		o.Backoff = controller.Backoff{
			Base: controller.BackoffBase, Max: max(o.Every, controller.BackoffMax), Jitter: controller.BackoffJitter,
		}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &Source{name: name, options: o}
}

// Name implements controller.Source.
func (s *Source) Name() string { return s.name }

// Check implements controller.SourceChecker.
func (s *Source) Check(string) error {
	o := s.options
	var problems []error
	refuse := func(wrong bool, message string) {
		if wrong {
			problems = append(problems, errors.New(message))
		}
	}
	refuse(o.Every < time.Second, "Every is less than a second")
	refuse(o.Observe == nil, "no Observe: give the function that looks at the outside")
	refuse(o.Timeout < 0, "Timeout is negative")
	refuse(o.Backoff.Base <= 0 || o.Backoff.Max < o.Backoff.Base, "Backoff has no positive Base, or a Max below it")
	refuse(!(o.Backoff.Jitter >= 0 && o.Backoff.Jitter <= 1), "the Jitter of Backoff is not from 0 to 1")
	return errors.Join(problems...)
}

// degraded is what a person reads while observations fail.
const degraded = "the last observations failed: see the last error"

// Run implements controller.Source.
func (s *Source) Run(ctx context.Context, in controller.Intake) error {
	cursor, failures := in.Cursor, 0
	for {
		wait := s.options.Every
		seen, err := s.observe(ctx, in.Clock, cursor)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			failures++
			in.Failed(err)
			in.Degraded(degraded)
			wait = s.retryAfter(err, failures)
			in.Next(in.Clock.Now().Add(wait))
		default:
			failures = 0
			in.Degraded("")
			in.Next(time.Time{}) // at the usual time, which is not worth a write
			if cursor, err = deliver(ctx, in, cursor, seen); err != nil {
				return err
			}
		}
		if err := clock.Sleep(ctx, in.Clock, wait); err != nil {
			return err
		}
	}
}

// observe looks once, under a deadline.
func (s *Source) observe(ctx context.Context, c clock.Clock, cursor string) (Observation, error) {
	late := fmt.Errorf("the observation took longer than %s", s.options.Timeout)
	ctx, cancel := clock.WithTimeoutCause(ctx, c, s.options.Timeout, late)
	defer cancel()
	seen, err := s.options.Observe(ctx, cursor)
	if err != nil && errors.Is(context.Cause(ctx), late) {
		err = fmt.Errorf("%w: %w", late, err)
	}
	return seen, err
}

// deliver wakes the keys, and returns the cursor for the next observation. What is
// as it was costs no write.
func deliver(ctx context.Context, in controller.Intake, cursor string, seen Observation) (string, error) {
	if seen.Cursor == "" {
		seen.Cursor = cursor
	}
	if len(seen.Keys) == 0 && seen.Cursor == cursor {
		return cursor, nil
	}
	_, err := in.Deliver(ctx, controller.Delivery{Cursor: seen.Cursor, Keys: seen.Keys, Note: seen.Note})
	return seen.Cursor, err
}

// retryAfter is the wait after an error, the n-th in a row.
func (s *Source) retryAfter(err error, n int) time.Duration {
	wait := s.options.Backoff.Delay(n, s.options.Random())
	if asked, ok := errors.AsType[RetryAfter](err); ok {
		wait = max(wait, min(asked.RetryAfter(), MaxRetryAfter))
	}
	return wait
}
