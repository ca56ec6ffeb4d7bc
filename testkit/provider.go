package testkit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"piworkflows/controller"
)

// Answer is how a provider answers one call.
type Answer string

// The answers. To the caller, Lost and Unreachable are the same.
const (
	// Done does what was asked and says so, as without a script.
	Done Answer = "done"
	// Lost does what was asked, and the answer does not arrive.
	Lost Answer = "done, and the answer is lost"
	// Unreachable does nothing, and no answer arrives.
	Unreachable Answer = "unreachable"
	// Refused does nothing, and never will.
	Refused Answer = "refused"
	// Unsure does nothing, and says that it does not know.
	Unsure Answer = "unsure"
	// Late is for Look: the provider does not see yet what was made.
	Late Answer = "not seen yet"
	// Hangs does nothing until the deadline of the pass has passed.
	Hangs Answer = "no answer until the deadline"
)

// Errors of a provider.
var (
	ErrNoAnswer = errors.New("the provider did not answer")
	ErrRefused  = errors.New("the provider refused")
	ErrUnsure   = errors.New("the provider does not know")
)

// Provider is an outside in which things can be made and looked for, by name. It
// is honest unless it is told to answer otherwise. An author's own interface is a
// few lines over Change and Look; Effect needs none. It is safe for concurrent use.
type Provider struct {
	name string

	mu    sync.Mutex
	there map[string]bool
	made  map[string]int
	// changes and looks are the answers of the next calls.
	changes, looks []Answer
	kit            *Kit
}

// NewProvider makes a provider with nothing in it. The name is for the trace.
func NewProvider(name string) *Provider {
	return &Provider{name: name, there: map[string]bool{}, made: map[string]int{}}
}

func (p *Provider) join(k *Kit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kit = k
}

// Answers says how the next changes are answered, in order; those after them are
// Done.
func (p *Provider) Answers(next ...Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = append(p.changes, next...)
}

// Looks says how the next looks are answered.
func (p *Provider) Looks(next ...Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks = append(p.looks, next...)
}

// Change makes something. It returns ErrNoAnswer, ErrRefused, ErrUnsure, or the
// cause of an ended context.
func (p *Provider) Change(ctx context.Context, id string) error {
	a, err := p.take(ctx, "change", id, &p.changes)
	if err != nil {
		return err
	}
	if a == Done || a == Lost {
		p.Make(id)
	}
	return p.answer(ctx, a)
}

// Look reports whether something is there. Lost and Unreachable tell nothing, and
// neither does Refused.
func (p *Provider) Look(ctx context.Context, id string) (bool, error) {
	a, err := p.take(ctx, "look", id, &p.looks)
	if err == nil {
		err = p.answer(ctx, a)
	}
	if err != nil || a == Late {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.there[id], nil
}

// take returns the next answer of a script. A process that has died asks nobody.
func (p *Provider) take(ctx context.Context, what, id string, script *[]Answer) (Answer, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a := Done
	if len(*script) > 0 {
		a, *script = (*script)[0], (*script)[1:]
	}
	if p.kit != nil {
		if p.kit.dead() {
			return "", ErrDied
		}
		p.kit.note(fmt.Sprintf("%s: %s %s: %s", p.name, what, id, p.told(what, id, a)))
	}
	return a, nil
}

// told is what the trace has of an answer.
func (p *Provider) told(what, id string, a Answer) string {
	switch {
	case what != "look" || a != Done:
		return string(a)
	case p.there[id]:
		return "it is there"
	default:
		return "it is not there"
	}
}

// answer is what the caller hears.
func (p *Provider) answer(ctx context.Context, a Answer) error {
	switch a {
	case Lost, Unreachable:
		return ErrNoAnswer
	case Refused:
		return ErrRefused
	case Unsure:
		return ErrUnsure
	case Hangs:
		return p.hang(ctx)
	case Done, Late:
	}
	return nil
}

// hang lets time pass up to the deadline.
func (p *Provider) hang(ctx context.Context) error {
	if p.kit != nil {
		p.kit.Clock.Advance(p.kit.timeout())
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// Make puts something there as somebody else does.
func (p *Provider) Make(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.there[id] = true
	p.made[id]++
}

// Remove takes something away as somebody else does.
func (p *Provider) Remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.there, id)
}

// Made returns how often something was made.
func (p *Provider) Made(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made[id]
}

// WantMade wants something to have been made so often.
func (p *Provider) WantMade(t T, id string, times int) {
	t.Helper()
	if got := p.Made(id); got != times {
		t.Errorf("%s made %s %d times, want %d", p.name, id, got, times)
	}
}

// Effect is an effect that makes what its key names, for controllers that need no
// interface to their provider.
func (p *Provider) Effect(key string) controller.Effect {
	return controller.Effect{
		Key: key, Kind: p.name, Request: map[string]string{"make": key},
		Observe: func(ctx context.Context) (controller.Observation, error) {
			there, err := p.Look(ctx, key)
			return Observed(there, err)
		},
		Apply: func(ctx context.Context, _ string) (controller.Application, error) {
			return Applied(p.Change(ctx, key))
		},
	}
}

// Observed is the observation of a look.
func Observed(there bool, err error) (controller.Observation, error) {
	switch {
	case errors.Is(err, ErrUnsure):
		return controller.Observation{State: controller.ObservedIndeterminate}, nil
	case err != nil:
		return controller.Observation{}, err
	case there:
		return controller.Observation{State: controller.ObservedApplied}, nil
	default:
		return controller.Observation{State: controller.ObservedNotApplied}, nil
	}
}

// Applied is the application of a change.
func Applied(err error) (controller.Application, error) {
	switch {
	case errors.Is(err, ErrRefused):
		return controller.Application{State: controller.EffectRejected, Reason: err.Error()}, nil
	case errors.Is(err, ErrUnsure):
		return controller.Application{State: controller.EffectIndeterminate, Reason: err.Error()}, nil
	case err != nil:
		return controller.Application{}, err
	default:
		return controller.Application{State: controller.EffectApplied}, nil
	}
}
