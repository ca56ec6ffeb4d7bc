package controller_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

// provider is the outside: it remembers what was changed and who asked.
type provider struct {
	mu     sync.Mutex
	log    []string
	tokens []string
	there  map[string]bool
	// apply and observe replace the honest answers.
	apply   func(ctx context.Context) (controller.Application, error)
	observe func(ctx context.Context) (controller.Observation, error)
	// note, if set, hears of each call.
	note func(string)
}

func newProvider() *provider { return &provider{there: map[string]bool{}, note: func(string) {}} }

// newEffectWorld makes a world with the resource k and a provider for its effects.
func newEffectWorld(t *testing.T) (*world, *provider) {
	t.Helper()
	w := newWorld(t)
	w.put("k", `1`)
	return w, newProvider()
}

// effect is one change of the provider, with the key as its request.
func (p *provider) effect(key string) controller.Effect {
	return controller.Effect{
		Key: key, Kind: "test", Request: map[string]string{"do": key},
		Observe: func(ctx context.Context) (controller.Observation, error) {
			there := p.call("observe", key, "")
			if p.observe != nil {
				return p.observe(ctx)
			}
			if there {
				return controller.Observation{State: controller.ObservedApplied, ExternalRef: "seen"}, nil
			}
			return controller.Observation{State: controller.ObservedNotApplied}, nil
		},
		Apply: func(ctx context.Context, token string) (controller.Application, error) {
			p.call("apply", key, token)
			if p.apply != nil {
				return p.apply(ctx)
			}
			return controller.Application{State: controller.EffectApplied, ExternalRef: "made"}, nil
		},
	}
}

func (p *provider) call(what, key, token string) (there bool) {
	p.note(what + " " + key)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, what+" "+key)
	there = p.there[key]
	if what == "apply" {
		p.there[key] = true
		p.tokens = append(p.tokens, token)
	}
	return there
}

// calls returns the calls since the last time.
func (p *provider) calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	log := slices.Clone(p.log)
	p.log = nil
	return log
}

// expectCalls compares the calls since the last look.
func (p *provider) expectCalls(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, p.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// ensuring makes a body that ensures effects in order and settles.
func ensuring(effects ...controller.Effect) body {
	return func(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
		for _, e := range effects {
			if _, err := p.Effects.Ensure(ctx, e); err != nil {
				return controller.RawResult{}, err
			}
		}
		return controller.Settled(nothing), nil
	}
}
