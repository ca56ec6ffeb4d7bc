package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

// waiter waits for one resource, with the change feed as its signal.
type waiter struct {
	// store is nil if the project has none.
	store controller.Store
	ref   controller.Ref
	goal  goal
	// uid is the resource that is looked at; another one under its key means
	// that it was deleted.
	uid string
	// waitsFor says what a deletion waits for.
	waitsFor func(context.Context, controller.Store, controller.Raw) ([]controller.Cause, error)
	// last is how it stood at the last look.
	last string
}

var errTimeUp = errors.New("the time is up")

// run returns the resource once the goal is reached, nil if that is its
// deletion.
func (w *waiter) run(ctx context.Context, a *App, timeout time.Duration) (*controller.Raw, error) {
	if w.store == nil {
		return w.gone()
	}
	var found *controller.Raw
	late, err := a.followKey(ctx, timeout, w.store, w.ref, func(ctx context.Context) (done bool, err error) {
		found, done, err = w.look(ctx)
		return done, err
	})
	if late {
		return nil, &TimeoutError{For: fmt.Sprintf("%s of %s", w.goal, w.ref), Last: w.last, Timeout: timeout}
	}
	return found, err
}

// followKey looks once, so that even no time at all is enough for what holds
// already, and then after each change of the key until the time is up. Who waits
// for a host that nobody started is told so at once.
func (a *App) followKey(
	ctx context.Context, timeout time.Duration, s controller.Store, ref controller.Ref,
	look func(context.Context) (done bool, err error),
) (late bool, err error) {
	bounded, cancel := clock.WithTimeoutCause(ctx, a.o.Clock, timeout, errTimeUp)
	defer cancel()
	from, err := s.Head(ctx)
	for said := false; err == nil; said = true {
		var done bool
		if done, err = look(ctx); done || err != nil {
			return false, err
		}
		if !said {
			a.sayIfNoHost()
		}
		var changes controller.Changes
		changes, err = s.Changes(bounded, from, controller.ChangeFilter(ref))
		from = changes.Next
	}
	return errors.Is(context.Cause(bounded), errTimeUp), err
}

// look reads the resource and tells whether the goal is reached.
func (w *waiter) look(ctx context.Context) (r *controller.Raw, done bool, err error) {
	now, err := w.store.Get(ctx, w.ref)
	if errors.Is(err, controller.ErrNotFound) {
		r, err := w.gone()
		return r, err == nil, err
	}
	if err != nil {
		return nil, false, err
	}
	if w.uid == "" {
		w.uid = now.Metadata.UID
	}
	if w.goal.kind == "" {
		w.last, err = w.deletionState(ctx, now)
		return nil, w.uid != now.Metadata.UID, err
	}
	c := conditionOf(now, w.goal.kind)
	w.last = fmt.Sprintf("it is %s (%s)", c.Status, c.Reason)
	return &now, c.Status == w.goal.status, nil
}

// gone is the end of the wait for a deletion, and the failure of every other.
func (w *waiter) gone() (*controller.Raw, error) {
	if w.goal.kind == "" {
		return nil, nil //nolint:nilnil // a deleted resource is no resource and no error
	}
	return nil, &controller.NotFoundError{Ref: w.ref}
}

func (w *waiter) deletionState(ctx context.Context, r controller.Raw) (string, error) {
	if !r.Metadata.Deleting() {
		return "its deletion was not requested", nil
	}
	causes, err := w.waitsFor(ctx, w.store, r)
	if err != nil || len(causes) == 0 {
		return "the next pass of its controller removes it", err
	}
	says := make([]string, len(causes))
	for i, c := range causes {
		says[i] = c.Message
	}
	return strings.Join(says, "; "), nil
}

// conditionOf returns a condition as readers must see it: unknown if it is not
// set or of an older generation.
//
// Spec: Resource model, observedGeneration.
func conditionOf(r controller.Raw, kind string) controller.Readiness {
	if kind == controller.Ready {
		return controller.ReadinessOf(r)
	}
	for _, c := range r.Status.Conditions {
		switch {
		case c.Type != kind:
		case c.ObservedGeneration < r.Metadata.Generation:
			return controller.Readiness{Status: controller.Unknown, Reason: controller.ReasonOutdatedGeneration}
		default:
			return controller.Readiness{Status: c.Status, Reason: c.Reason, Message: c.Message}
		}
	}
	return controller.Readiness{Status: controller.Unknown, Reason: controller.ReasonNotObserved}
}
