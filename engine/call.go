package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"piworkflows/clock"
)

// answer is what a callback returned.
type answer[T any] struct {
	value T
	err   error
}

// call runs a callback in a goroutine of its own and waits for it. When ctx has
// ended its cause is the error, whatever the callback returned; the value comes
// back beside it. A callback that does not return within the settle grace gives
// an *UnsettledError and is left behind: only its author can end it.
func call[T any](ctx context.Context, e *Engine, what string, callback func(ctx context.Context) (T, error)) (T, error) {
	var zero T
	if ctx.Err() != nil {
		return zero, context.Cause(ctx)
	}
	answers, returned := make(chan answer[T], 1), make(chan struct{})
	go func() {
		defer close(returned)
		got := answer[T]{err: errors.New(what + " ended its goroutine instead of returning")}
		defer func() { answers <- got }()
		got = protected(ctx, e, what, callback)
	}()
	select {
	case got := <-answers:
		return got.settled(ctx)
	case <-ctx.Done():
	}
	timer := e.o.Clock.NewTimer(e.o.SettleGrace)
	defer timer.Stop()
	select {
	case got := <-answers:
		return got.settled(ctx)
	case <-timer.C():
		return zero, &UnsettledError{What: what, Grace: e.o.SettleGrace, Cause: context.Cause(ctx), returned: returned}
	}
}

// settled prefers the end of the context to what the callback made of it.
func (a answer[T]) settled(ctx context.Context) (T, error) {
	if ctx.Err() != nil {
		return a.value, context.Cause(ctx)
	}
	return a.value, a.err
}

// bounded is call for a callback outside of an attempt's deadline.
func bounded[T any](ctx context.Context, e *Engine, what string, callback func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := clock.WithTimeoutCause(ctx, e.o.Clock, CallbackTimeout, &TimeoutError{What: what, After: CallbackTimeout})
	defer cancel()
	return call(ctx, e, what, callback)
}

// protected turns a panic into an error.
func protected[T any](ctx context.Context, e *Engine, what string, callback func(ctx context.Context) (T, error)) (a answer[T]) {
	defer func() {
		if value := recover(); value != nil {
			// The stack is for the author; the record gets one line.
			e.o.Logger.ErrorContext(ctx, "a callback panicked", "what", what, "panic", value, "stack", string(debug.Stack()))
			a.err = &PanicError{What: what, Value: fmt.Sprint(value)}
		}
	}()
	a.value, a.err = callback(ctx)
	return a
}
