package storetest

import (
	"math/rand/v2"
	"slices"
	"sync"

	"piworkflows/controller"
	"piworkflows/runqueue"
)

// Errors with which a Faulty store ends an operation; those of real stores are
// other types with the same codes.
var (
	ErrBusy error = &FaultError{"store_busy", "another process holds the store: try again"}
	ErrIO   error = &FaultError{"disk_error", "the disk cannot be read or written: look at it"}
	ErrFull error = &FaultError{"disk_full", "the disk is full: make room"}
)

// FaultError is a fault that was asked for.
type FaultError struct{ code, text string }

func (e *FaultError) Error() string { return e.text }

// ErrorCode is the stable code of the error.
func (e *FaultError) ErrorCode() string { return e.code }

// Fault is what can befall an operation of a store.
type Fault struct {
	// Err is what the operation ends with; nil lets it go on.
	Err error
	// Done says that the operation is done and only its answer is lost.
	Done bool
	// Delay, if set, is called first: a slow store lets time pass. It is not to call
	// the store.
	Delay func()
}

// Faulty is a store that fails when it is told to, and remembers what it was asked
// for. Without hooks it is the store that it wraps. It is safe for concurrent use,
// and calls one hook at a time.
type Faulty struct {
	inner Store

	mu            sync.Mutex
	before, after func(op string) error
	trace         []string
}

var (
	_ controller.Store         = (*Faulty)(nil)
	_ controller.FinishClaimer = (*Faulty)(nil)
	_ runqueue.Store           = (*Faulty)(nil)
)

// NewFaulty wraps a store.
func NewFaulty(inner Store) *Faulty { return &Faulty{inner: inner} }

// Inner is the store that is wrapped.
func (s *Faulty) Inner() Store { return s.inner }

// Hook sets what is called before each operation, and after each that succeeded;
// nil is nothing. Operations are named like their methods. An error becomes that of
// the operation.
func (s *Faulty) Hook(before, after func(op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

// Fail makes the next n calls of an operation fail with err.
func (s *Faulty) Fail(op string, n int, err error) {
	s.Hook(func(o string) error {
		if o != op || n == 0 {
			return nil
		}
		n--
		return err
	}, nil)
}

// Storm lets one of the faults befall an operation, by chance, one time in odds,
// until another Hook. The same seed draws the same numbers.
func (s *Faulty) Storm(seed uint64, odds int, faults ...Fault) {
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // repeatable, and no secret
	var before, after []Fault
	for _, fault := range faults {
		if fault.Done {
			after = append(after, fault)
		} else {
			before = append(before, fault)
		}
	}
	strike := func(from []Fault) func(op string) error {
		return func(string) error {
			if len(from) == 0 || random.IntN(odds) > 0 {
				return nil
			}
			fault := from[random.IntN(len(from))]
			if fault.Delay != nil {
				fault.Delay()
			}
			return fault.Err
		}
	}
	s.Hook(strike(before), strike(after))
}

// Took returns the operations, in the order in which they began, since the last
// call.
func (s *Faulty) Took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := slices.Clone(s.trace)
	s.trace = nil
	return t
}

// Note adds a line to what Took returns.
func (s *Faulty) Note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, line)
}

func (s *Faulty) enter(op string) error {
	s.Note(op)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before == nil {
		return nil
	}
	return s.before(op)
}

func (s *Faulty) leave(err error, op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.after == nil {
		return err
	}
	return s.after(op)
}

// through calls one operation between the hooks.
func through[R any](s *Faulty, op string, call func() (R, error)) (R, error) {
	var none R
	if err := s.enter(op); err != nil {
		return none, err
	}
	r, err := call()
	if err := s.leave(err, op); err != nil {
		return r, err
	}
	return r, nil
}

// passing is through for operations that return nothing.
func passing(s *Faulty, op string, call func() error) error {
	_, err := through(s, op, func() (struct{}, error) { return struct{}{}, call() })
	return err
}
