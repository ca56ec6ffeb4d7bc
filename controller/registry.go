package controller

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// Registry holds the definitions that a process knows. It is safe for concurrent
// use.
type Registry struct{ known atomic.Pointer[known] }

// known are the definitions of one moment.
type known struct {
	byName map[string]*Definition
	names  []string
}

// NewRegistry checks definitions and finds them by name. The error joins every
// problem: missing or invalid names, a name twice, no Reconcile, negative
// limits, source names that are invalid or not unique.
func NewRegistry(defs ...*Definition) (*Registry, error) {
	r := &Registry{}
	if err := r.Replace(defs...); err != nil {
		return nil, err
	}
	return r, nil
}

// Replace makes the registry hold other definitions. The error is that of
// NewRegistry, and then nothing changed. Whoever has a definition keeps it.
func (r *Registry) Replace(defs ...*Definition) error {
	k := &known{byName: make(map[string]*Definition, len(defs))}
	var problems []error
	for i, d := range defs {
		if d == nil {
			problems = append(problems, fmt.Errorf("definition %d is nil: leave it out", i))
			continue
		}
		problems = append(problems, d.check()...)
		if k.byName[d.Name] != nil {
			problems = append(problems, fmt.Errorf("two definitions are named %.80q: rename one", d.Name))
			continue
		}
		k.byName[d.Name] = d
		k.names = append(k.names, d.Name)
	}
	slices.Sort(k.names)
	if err := errors.Join(problems...); err != nil {
		return err
	}
	r.known.Store(k)
	return nil
}

// Get returns the definition of that name, or an *UnknownControllerError.
func (r *Registry) Get(name string) (*Definition, error) {
	if d := r.find(name); d != nil {
		return d, nil
	}
	return nil, &UnknownControllerError{Name: name, Known: r.Names()}
}

// find returns the definition of that name, nil if there is none.
func (r *Registry) find(name string) *Definition { return r.known.Load().byName[name] }

// Names returns the names of all definitions, sorted.
func (r *Registry) Names() []string { return slices.Clone(r.known.Load().names) }

// check lists everything that is wrong with a definition by itself.
func (d *Definition) check() []error {
	var problems []error
	if err := ValidateController(d.Name); err != nil {
		problems = append(problems, err)
	}
	complain := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("controller %.80q: "+format, append([]any{d.Name}, args...)...))
	}
	if d.Reconcile == nil {
		complain("no Reconcile: set one, or make the definition with Define")
	}
	if d.Timeout < 0 {
		complain("timeout %s is negative: zero is the default of %s", d.Timeout, DefaultTimeout)
	}
	if d.Concurrency < 0 {
		complain("concurrency %d is negative: zero leaves it to the manager", d.Concurrency)
	}
	if d.CompletedTTL < 0 {
		complain("completed TTL %s is negative: zero is never", d.CompletedTTL)
	}
	perHour := func(n int, what string, most, standard int) {
		if n < 0 || n > most {
			complain("%d %s an hour: allow 1 to %d, or zero for %d", n, what, most, standard)
		}
	}
	perHour(d.ChildRunsPerHour, "child runs", MaxChildRunsPerHour, DefaultChildRunsPerHour)
	perHour(d.AgentAttemptsPerHour, "agent attempts", MaxAgentAttemptsPerHour, DefaultAgentAttemptsPerHour)
	if d.Resync < 0 {
		complain("resync %s is negative: zero is never", d.Resync)
	}
	return append(problems, d.checkSources()...)
}

func (d *Definition) checkSources() []error {
	var problems []error
	seen := map[string]bool{}
	for i, s := range d.Sources {
		if s == nil {
			problems = append(problems, fmt.Errorf("controller %.80q: source %d is nil: leave it out", d.Name, i))
			continue
		}
		if err := ValidateName("source name", s.Name()); err != nil {
			problems = append(problems, fmt.Errorf("controller %.80q: %w", d.Name, err))
		}
		if seen[s.Name()] {
			problems = append(problems, fmt.Errorf("controller %.80q: two sources are named %.80q: rename one", d.Name, s.Name()))
		}
		seen[s.Name()] = true
		if c, ok := s.(SourceChecker); ok {
			if err := c.Check(d.Name); err != nil {
				problems = append(problems, fmt.Errorf("controller %.80q: source %.80q: %w", d.Name, s.Name(), err))
			}
		}
	}
	return problems
}
