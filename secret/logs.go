package secret

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// Logs returns a handler that masks what goes to h: messages and values, those of
// errors and of other types included.
func Logs(h slog.Handler) slog.Handler {
	if already, ok := h.(logs); ok {
		return already
	}
	return logs{h}
}

type logs struct{ next slog.Handler }

// Enabled implements slog.Handler.
func (l logs) Enabled(ctx context.Context, level slog.Level) bool { return l.next.Enabled(ctx, level) }

// WithGroup implements slog.Handler.
func (l logs) WithGroup(name string) slog.Handler { return logs{l.next.WithGroup(name)} }

// WithAttrs implements slog.Handler.
func (l logs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logs{l.next.WithAttrs(maskAll(attrs))}
}

// Handle implements slog.Handler.
func (l logs) Handle(ctx context.Context, r slog.Record) error {
	if process.known.Load() == nil {
		return l.next.Handle(ctx, r) //nolint:wrapcheck // it is the error of the handler
	}
	masked := slog.NewRecord(r.Time, r.Level, Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(mask(a))
		return true
	})
	return l.next.Handle(ctx, masked) //nolint:wrapcheck // it is the error of the handler
}

func maskAll(attrs []slog.Attr) []slog.Attr {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = mask(a)
	}
	return masked
}

func mask(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, Redact(v.String()))
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(maskAll(v.Group())...)}
	case slog.KindAny:
		return slog.Attr{Key: a.Key, Value: maskAny(v)}
	default:
		return slog.Attr{Key: a.Key, Value: v}
	}
}

// maskAny leaves a value alone that says nothing secret, in whatever form a
// handler writes it.
func maskAny(v slog.Value) slog.Value {
	text := fmt.Sprintf("%+v", v.Any())
	masked := Redact(text)
	if masked != text {
		return slog.StringValue(masked)
	}
	if raw, err := json.Marshal(v.Any()); err == nil && CheckText("value of a log", string(raw)) != nil {
		return slog.StringValue(string(RedactJSON(raw)))
	}
	return v
}
