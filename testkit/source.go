package testkit

import (
	"context"
	"slices"
	"sync"
	"time"

	"piworkflows/controller"
)

// Source is a source of the controller that runs. It is no part of the process
// that dies in Kit.Crash, and it is not started again when it ends: call
// Kit.Source for that. Its methods belong to the goroutine of the test.
type Source struct {
	k    *Kit
	name string
	stop context.CancelFunc
	// ended is closed once Run has returned err.
	ended chan struct{}
	err   error
	// news has a signal when something was delivered.
	news chan struct{}

	mu        sync.Mutex
	delivered []Delivered
	refused   []string
	failed    []error
	degraded  string
}

// Delivered is what a source delivered, and what came of it.
type Delivered struct {
	controller.Delivery
	controller.DeliveryResult
}

// Source runs a source of the definition, from its cursor in the store and on the
// clock of the kit, until Stop or the end of the test. A name that the definition
// does not have fails the test.
func (k *Kit) Source(name string) *Source {
	k.t.Helper()
	i := slices.IndexFunc(k.definition.Sources, func(s controller.Source) bool { return s.Name() == name })
	if i < 0 {
		k.t.Fatalf("the controller %s has no source %q", k.definition.Name, name)
	}
	cursor, err := k.store.SourceCursor(k.t.Context(), k.definition.Name, name)
	if err != nil {
		k.t.Fatalf("read the cursor of the source %s: %v", name, err)
	}
	ctx, stop := context.WithCancel(k.t.Context())
	s := &Source{k: k, name: name, stop: stop, ended: make(chan struct{}), news: make(chan struct{}, 1)}
	go func() {
		defer close(s.ended)
		s.err = k.definition.Sources[i].Run(ctx, s.intake(cursor))
	}()
	k.t.Cleanup(func() { _ = s.Stop() })
	return s
}

func (s *Source) intake(cursor string) controller.Intake {
	store := controller.Redacting(s.k.store)
	return controller.Intake{
		Controller: s.k.definition.Name, Cursor: cursor, Clock: s.k.Clock, Feed: store,
		Deliver: func(ctx context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
			d.Source = s.name
			r, err := store.Deliver(ctx, s.k.definition.Name, d)
			if err == nil {
				s.change(func() { s.delivered = append(s.delivered, Delivered{d, r}) })
				select {
				case s.news <- struct{}{}:
				default:
				}
			}
			return r, err
		},
		Refused:  func(reason string) { s.change(func() { s.refused = append(s.refused, reason) }) },
		Failed:   func(err error) { s.change(func() { s.failed = append(s.failed, err) }) },
		Degraded: func(reason string) { s.change(func() { s.degraded = reason }) },
		Next:     func(time.Time) {},
	}
}

func (s *Source) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Await returns the next delivery that was stored, and waits for it. A source that
// ends instead fails the test.
func (s *Source) Await() Delivered {
	s.k.t.Helper()
	for {
		if d, ok := s.take(); ok {
			return d
		}
		select {
		case <-s.news:
		case <-s.ended:
			if d, ok := s.take(); ok {
				return d
			}
			s.k.t.Fatalf("the source %s ended, and delivered nothing more: %v", s.name, s.err)
		case <-s.k.t.Context().Done():
			s.k.t.Fatalf("the source %s delivered nothing more", s.name)
		}
	}
}

func (s *Source) take() (d Delivered, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.delivered) == 0 {
		return d, false
	}
	d, s.delivered = s.delivered[0], s.delivered[1:]
	return d, true
}

// Waits returns once the source waits on the clock for something, so that Clock
// can be moved. It is for a source that has one timer at a time.
func (s *Source) Waits() {
	s.k.t.Helper()
	if err := s.k.Clock.AwaitTimers(s.k.t.Context(), 1); err != nil {
		s.k.t.Fatalf("the source %s waits for nothing: %v", s.name, err)
	}
}

// Ended waits until the source ends by itself, and returns its error.
func (s *Source) Ended() error {
	<-s.ended
	return s.err
}

// Stop asks the source to end, as a host that stops does, and returns its error,
// which is usually that of its context.
func (s *Source) Stop() error {
	s.stop()
	return s.Ended()
}

// Refused returns why something was not let in, in order.
func (s *Source) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// Failed returns the errors that the source went on after, in order.
func (s *Source) Failed() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.failed)
}

// Degraded returns what is wrong with the source, by its own word; empty if
// nothing is.
func (s *Source) Degraded() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.degraded
}
