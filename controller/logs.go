package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Log returns an observer that writes the records to a log. What goes as it
// should has the levels debug and info, what is tried again is a warning, and
// what somebody has to look at is an error.
func Log(l *slog.Logger) Observer { return logs{l} }

type logs struct{ *slog.Logger }

// Observe implements Observer.
func (l logs) Observe(r Record) {
	if ctx := context.Background(); l.Enabled(ctx, r.level()) {
		l.LogAttrs(ctx, r.level(), r.message(), r.attributes()...) //nolint:sloglint // each is a constant
	}
}

func (PassStarted) level() slog.Level { return slog.LevelDebug }
func (PassStarted) message() string   { return "pass started" }
func (r PassStarted) attributes() []slog.Attr {
	return append(r.PassInfo.attributes(), slog.String("lane", r.Lane.String()), inMs("waitedMs", r.Waited))
}

func (r PassEnded) level() slog.Level {
	_, thrown := errors.AsType[*PanicError](r.Err)
	switch {
	case thrown:
		return slog.LevelError
	case r.Outcome == PassFailed, r.Outcome == PassLost, r.Outcome == PassUnrecorded:
		return slog.LevelWarn
	case r.Outcome == PassDeleted:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

func (PassEnded) message() string { return "pass" }
func (r PassEnded) attributes() []slog.Attr {
	list := append(r.PassInfo.attributes(), slog.String("outcome", string(r.Outcome)), inMs("durationMs", r.Duration))
	if r.Reason != "" {
		list = append(list, slog.String("reason", string(r.Reason)), inMs("requeueAfterMs", r.After))
	}
	if thrown, ok := errors.AsType[*PanicError](r.Err); ok {
		list = append(list, slog.String("stack", string(thrown.Stack)))
	}
	return withError(list, r.Err)
}

func (PassAbandoned) level() slog.Level { return slog.LevelWarn }
func (PassAbandoned) message() string   { return "reconciler abandoned" }
func (r PassAbandoned) attributes() []slog.Attr {
	return append(r.PassInfo.attributes(), slog.Any("cause", r.Cause))
}

func (PassReturned) level() slog.Level { return slog.LevelWarn }
func (PassReturned) message() string   { return "abandoned reconciler returned" }
func (r PassReturned) attributes() []slog.Attr {
	return withError(append(r.PassInfo.attributes(), inMs("durationMs", r.Duration)), r.Err)
}

func (r EffectChanged) level() slog.Level {
	switch r.Event {
	case EventEffectPending:
		return slog.LevelDebug
	case EventEffectApplied, EventEffectRecovered:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

func (EffectChanged) message() string { return "effect" }
func (r EffectChanged) attributes() []slog.Attr {
	return withText(append(r.PassInfo.attributes(), slog.String("effectKey", r.Effect), slog.String("kind", r.Kind),
		slog.String("state", string(r.State)), slog.String("event", string(r.Event))), r.Err)
}

func (r ChildChanged) level() slog.Level {
	if r.State == RunFailed || r.State == RunInterrupted {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func (ChildChanged) message() string { return "child run" }
func (r ChildChanged) attributes() []slog.Attr {
	list := r.ChildInfo.attributes()
	if r.Ref != (Ref{}) {
		list = append(r.Ref.attributes(), list...)
	}
	return withText(append(list, slog.String("state", string(r.State))), r.Err)
}

func (ChildLost) level() slog.Level { return slog.LevelWarn }
func (ChildLost) message() string {
	return "the claim on the child run is lost; its next holder goes on"
}
func (r ChildLost) attributes() []slog.Attr { return withError(r.ChildInfo.attributes(), r.Err) }

func (StoreFailed) level() slog.Level { return slog.LevelError }
func (StoreFailed) message() string   { return "store failed, trying again" }
func (r StoreFailed) attributes() []slog.Attr {
	return withError([]slog.Attr{
		slog.String("doing", r.Doing), slog.Int("failures", r.Failures), inMs("afterMs", r.After),
	}, r.Err)
}

func (r Ref) attributes() []slog.Attr {
	return []slog.Attr{slog.String("controller", r.Controller), slog.String("key", r.Key)}
}

func (p PassInfo) attributes() []slog.Attr {
	return append(p.Ref.attributes(), slog.Int64("generation", p.Generation), slog.String("reconcileId", p.ReconcileID))
}

func (c ChildInfo) attributes() []slog.Attr {
	return []slog.Attr{
		slog.String("requestId", c.RequestID), slog.String("runId", c.RunID), slog.String("workflow", c.Workflow),
		slog.Int("attempt", c.Attempt),
	}
}

func inMs(name string, d time.Duration) slog.Attr { return slog.Int64(name, d.Milliseconds()) }

func withError(list []slog.Attr, err error) []slog.Attr {
	if err == nil {
		return list
	}
	return withText(list, errorText(err))
}

func withText(list []slog.Attr, text string) []slog.Attr {
	if text == "" {
		return list
	}
	return append(list, slog.String("error", text))
}
