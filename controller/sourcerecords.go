package controller

import (
	"errors"
	"log/slog"
	"time"
)

// SourceChanged is a source that came into a state.
type SourceChanged struct {
	SourceInfo
	State SourceState
	// Reason says what is wrong with a degraded source.
	Reason string
	// After is the wait of one that is restarting.
	After time.Duration
}

// SourceDelivered is a delivery that the store took.
type SourceDelivered struct {
	SourceInfo
	Result DeliveryResult
	// At is when.
	At time.Time
}

// SourceRefused is something that a source did not let in.
type SourceRefused struct {
	SourceInfo
	Reason string
	At     time.Time
}

// SourceFailed is an error of a source: with one that ends it goes a
// SourceChanged. Its text may have a secret in it: show it with secret.Redact.
type SourceFailed struct {
	SourceInfo
	Err error
}

func (r SourceChanged) level() slog.Level {
	switch r.State {
	case SourceDegraded, SourceRestarting:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

func (SourceChanged) message() string { return "source" }
func (r SourceChanged) attributes() []slog.Attr {
	list := append(r.SourceInfo.attributes(), slog.String("state", string(r.State)))
	if r.Reason != "" {
		list = append(list, slog.String("reason", r.Reason))
	}
	if r.After > 0 {
		list = append(list, inMs("afterMs", r.After))
	}
	return list
}

func (SourceDelivered) level() slog.Level { return slog.LevelDebug }
func (SourceDelivered) message() string   { return "source delivered" }
func (r SourceDelivered) attributes() []slog.Attr {
	return append(r.SourceInfo.attributes(), slog.Bool("duplicate", r.Result.Duplicate),
		slog.Int("enqueued", r.Result.Enqueued), slog.Int("unknown", r.Result.Unknown))
}

// A refusal is no warning: whoever can reach the source could fill the log.
func (SourceRefused) level() slog.Level { return slog.LevelDebug }
func (SourceRefused) message() string   { return "source refused" }
func (r SourceRefused) attributes() []slog.Attr {
	return append(r.SourceInfo.attributes(), slog.String("reason", r.Reason))
}

func (SourceFailed) level() slog.Level { return slog.LevelError }
func (SourceFailed) message() string   { return "source failed" }
func (r SourceFailed) attributes() []slog.Attr {
	list := r.SourceInfo.attributes()
	if thrown, ok := errors.AsType[*PanicError](r.Err); ok {
		list = append(list, slog.String("stack", string(thrown.Stack)))
	}
	return withError(list, r.Err)
}

func (i SourceInfo) attributes() []slog.Attr {
	return []slog.Attr{slog.String("controller", i.Controller), slog.String("source", i.Source)}
}
