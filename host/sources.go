package host

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
)

// The delay before a source that ended is started again doubles up to a bound.
const (
	sourceRetryBase = time.Second
	sourceRetryMax  = time.Minute
)

// sources runs every source of the loaded controllers until ctx ends.
type sources struct {
	store       Store
	controllers *controller.Registry
	clock       clock.Clock
	log         *slog.Logger
}

func (s sources) run(ctx context.Context) {
	var active sync.WaitGroup
	defer active.Wait()
	for _, name := range s.controllers.Names() {
		def, err := s.controllers.Get(name)
		if err != nil {
			continue
		}
		for _, source := range def.Sources {
			active.Go(func() { s.supervise(ctx, name, source) })
		}
	}
}

// supervise keeps one source running: one that fails is started again with a
// growing delay and never takes the host down.
func (s sources) supervise(ctx context.Context, owner string, source controller.Source) {
	log := s.log.With("controller", owner, "source", source.Name())
	delay := sourceRetryBase
	for ctx.Err() == nil {
		started := s.clock.Now()
		err := s.once(ctx, owner, source)
		if ctx.Err() != nil {
			return
		}
		if s.clock.Now().Sub(started) > sourceRetryMax {
			delay = sourceRetryBase
		}
		withStack(log, err).Error("the source ended and starts again", "error", err, "in", delay)
		_ = clock.Sleep(ctx, s.clock, delay)
		delay = min(2*delay, sourceRetryMax)
	}
}

// once runs a source to its end; a panic is one, too.
func (s sources) once(ctx context.Context, owner string, source controller.Source) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &controller.PanicError{In: "source " + source.Name(), Value: value, Stack: debug.Stack()}
		}
	}()
	cursor, err := s.store.SourceCursor(ctx, owner, source.Name())
	if err != nil {
		return err
	}
	return source.Run(ctx, cursor, func(ctx context.Context, d controller.Delivery) (controller.DeliveryResult, error) {
		d.Source = source.Name()
		return s.store.Deliver(ctx, owner, d)
	})
}

// withStack adds the place of a panic to a log.
func withStack(log *slog.Logger, err error) *slog.Logger {
	if thrown, ok := errors.AsType[*controller.PanicError](err); ok {
		return log.With("stack", string(thrown.Stack))
	}
	return log
}
