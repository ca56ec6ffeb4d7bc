package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"piworkflows/clock"
	"piworkflows/view"
)

// The forms of a log.
const (
	logLines = "lines"
	logJSON  = "json"
)

// logHandler returns the handler of a form.
func (a *App) logHandler(format string, level slog.Level) slog.Handler {
	if format == logJSON {
		return slog.NewJSONHandler(a.o.Stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: utc})
	}
	return &lines{
		out: &locked{w: a.o.Stderr}, level: level, palette: a.palette(a.o.Stderr), short: isTerminal(a.o.Stderr),
	}
}

// utc writes the time of a record as all times are written.
func utc(groups []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey && len(groups) == 0 {
		attr.Value = slog.StringValue(clock.Format(attr.Value.Time()))
	}
	return attr
}

// detail are the fields that a person does not need on each line; -v has them.
var detail = []string{"generation", "reconcileId", "requestId"}

// lines is a slog.Handler for people: a record is one line, its resource stands
// in front of the message, a stack on lines of its own. What a record says is
// made safe for a terminal.
type lines struct {
	out     *locked
	level   slog.Level
	palette view.Palette
	// short leaves out the day.
	short bool
	// attrs are those of With; prefix is that of WithGroup.
	attrs  []slog.Attr
	prefix string
}

// locked is a writer that the handlers of one log share.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Enabled implements slog.Handler.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *l
	with.attrs = slices.Clip(l.attrs)
	for _, attr := range attrs {
		attr.Key = l.prefix + attr.Key
		with.attrs = append(with.attrs, attr)
	}
	return &with
}

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(name string) slog.Handler {
	with := *l
	with.prefix += name + "."
	return &with
}

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	line := line{lines: l}
	for _, attr := range l.attrs {
		line.add("", attr)
	}
	r.Attrs(func(attr slog.Attr) bool {
		line.add(l.prefix, attr)
		return true
	})
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if _, err := io.WriteString(l.out.w, line.text(r)); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	return nil
}

// line is one record on its way to the writer.
type line struct {
	*lines
	owner, key, stack string
	fields            []string
}

func (l *line) add(prefix string, attr slog.Attr) {
	value := attr.Value.Resolve()
	name := prefix + attr.Key
	switch {
	case value.Kind() == slog.KindGroup:
		for _, member := range value.Group() {
			l.add(name+".", member)
		}
	case name == "controller":
		l.owner = value.String()
	case name == "key":
		l.key = value.String()
	case name == "stack":
		l.stack = value.String()
	case l.level > slog.LevelDebug && slices.Contains(detail, name):
	default:
		l.fields = append(l.fields, l.palette.Dim(name+"=")+quoted(view.Plain(value.String())))
	}
}

func quoted(text string) string {
	if text == "" || strings.ContainsAny(text, ` "=`) {
		return strconv.Quote(text)
	}
	return text
}

func (l *line) text(r slog.Record) string {
	parts := []string{l.palette.Dim(l.time(r.Time)), l.severity(r.Level)}
	switch {
	case l.key != "":
		parts = append(parts, l.palette.Bold(view.Plain(l.owner+"/"+l.key))+":")
	case l.owner != "":
		parts = append(parts, l.palette.Bold(view.Plain(l.owner))+":")
	}
	text := strings.Join(append(append(parts, view.Plain(r.Message)), l.fields...), " ") + "\n"
	if l.stack != "" {
		text += "    " + strings.ReplaceAll(view.PlainLines(l.stack), "\n", "\n    ") + "\n"
	}
	return text
}

func (l *line) time(at time.Time) string {
	if l.short {
		return at.Format(time.TimeOnly)
	}
	return clock.Format(at)
}

func (l *line) severity(level slog.Level) string {
	text := fmt.Sprintf("%-5s", level)
	switch {
	case level >= slog.LevelError:
		return l.palette.Bad(text)
	case level >= slog.LevelWarn:
		return l.palette.Warm(text)
	default:
		return text
	}
}
