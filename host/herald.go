package host

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/secret"
)

// herald serves one notify hook: it finds what is to be told, keeps that in the
// store, and tells it. Whatever fails is tried again; nothing of it ends the host.
type herald struct {
	noticing
	hook    NotifyHook
	clock   clock.Clock
	log     *slog.Logger
	deliver func(ctx context.Context, n controller.Notice) error
	// more has a place for the word that there is something new to tell.
	more chan struct{}
	// tokens are how many may be told now, as of counted.
	tokens  float64
	counted time.Time
}

func (o Options) heralds(store Store) []*herald {
	var list []*herald
	for _, h := range o.Notify {
		list = append(list, &herald{
			noticing: noticing{store, h.Kinds}, hook: h, clock: o.Clock, log: o.Logger.With("notifyHook", h.Name),
			deliver: h.deliverer(o), more: make(chan struct{}, 1), tokens: notifyBurst, counted: o.Clock.Now(),
		})
	}
	return list
}

// tellPeople serves all notify hooks until ctx ends.
func (h *Host) tellPeople(ctx context.Context) {
	var active sync.WaitGroup
	defer active.Wait()
	for _, one := range h.heralds {
		active.Go(func() { one.insist(ctx, one.collect) })
		active.Go(func() { one.insist(ctx, one.tell) })
	}
}

// insist repeats a step until ctx ends, with a pause after an error.
func (h *herald) insist(ctx context.Context, step func(context.Context) error) {
	for ctx.Err() == nil {
		if err := step(ctx); err != nil && ctx.Err() == nil {
			h.log.ErrorContext(ctx, "notices wait for the store", "error", err)
			_ = clock.Sleep(ctx, h.clock, storeRetry)
		}
	}
}

// collect keeps what is to be told of the next events. A hook that is new begins
// with what happens from now on.
func (h *herald) collect(ctx context.Context) error {
	cursor, err := h.store.NoticeCursor(ctx, h.hook.Name)
	if err != nil {
		return err
	}
	if cursor == "" {
		if cursor, err = h.store.Head(ctx); err != nil {
			return err
		}
		return h.store.QueueNotices(ctx, h.hook.Name, nil, cursor)
	}
	changes, err := h.store.Changes(ctx, cursor, controller.ChangeFilter{})
	if err != nil {
		return err
	}
	list, err := h.among(ctx, changes.Events)
	if err != nil {
		return err
	}
	if err := h.store.QueueNotices(ctx, h.hook.Name, list, changes.Next); err != nil {
		return err
	}
	if len(list) > 0 {
		select {
		case h.more <- struct{}{}:
		default: // it is told already
		}
	}
	return nil
}

// tell tells the notice that is due, or waits until one may be.
func (h *herald) tell(ctx context.Context) error {
	list, err := h.store.Notices(ctx, h.hook.Name, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return h.wait(ctx, time.Hour) // by then it may be another process that keeps some
	}
	n := list[0]
	if early := max(n.DueAt.Sub(h.clock.Now()), h.turn()); early > 0 {
		return h.wait(ctx, early)
	}
	so, err := h.still(ctx, n)
	if err != nil {
		return err
	}
	if !so {
		return h.store.EndNotice(ctx, h.hook.Name, n.ID, controller.NoticeEnd{Told: true, Err: "it was over before it was told"})
	}
	h.tokens--
	return h.attempt(ctx, n)
}

// attempt tells a notice, and records what came of it also while the host stops.
func (h *herald) attempt(ctx context.Context, n controller.Notice) error {
	limited, cancel := clock.WithTimeoutCause(ctx, h.clock, notifyTimeout, errNotifySlow)
	defer cancel()
	err := h.deliver(limited, n)
	if ctx.Err() != nil {
		return nil // it is told again by the next host
	}
	end := controller.NoticeEnd{Told: err == nil}
	if err != nil {
		end.Err = secret.Redact(err.Error())
		end.Told = errors.Is(err, errNotifyRefused)
		end.After = notifyBackoff.Delay(n.Attempts+1, rand.Float64()) //nolint:gosec // no secret
		h.log.WarnContext(ctx, "a notice was not told", "kind", n.Kind, "controller", n.Controller, "key", n.Key,
			"subject", n.Subject, "error", end.Err, "givenUp", end.Told)
	}
	return h.store.EndNotice(ctx, h.hook.Name, n.ID, end)
}

// turn is how long the next notice has to wait for others that were told.
func (h *herald) turn() time.Duration {
	now := h.clock.Now()
	h.tokens = min(notifyBurst, h.tokens+float64(now.Sub(h.counted))/float64(notifyEvery))
	h.counted = now
	if h.tokens >= 1 {
		return 0
	}
	return time.Duration((1 - h.tokens) * float64(notifyEvery))
}

// wait returns once there is more to tell, or after so long.
func (h *herald) wait(ctx context.Context, d time.Duration) error {
	timer := h.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-h.more:
	case <-timer.C():
	case <-ctx.Done():
	}
	return nil
}
