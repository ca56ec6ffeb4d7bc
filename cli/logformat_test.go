package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
)

// logged returns what a log in a form has after some records, without its times.
func logged(t *testing.T, format string, level slog.Level, tell func(*slog.Logger)) string {
	t.Helper()
	var out bytes.Buffer
	a := New(Options{Stderr: &out, Getenv: func(string) string { return "" }})
	tell(slog.New(a.logHandler(format, level)))
	var lines []string
	for line := range strings.Lines(out.String()) {
		if head, rest, ok := strings.Cut(line, " "); ok && strings.HasSuffix(head, "Z") {
			line = rest
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

func TestALogIsWrittenForPeople(t *testing.T) {
	t.Parallel()
	pass := controller.PassInfo{Ref: controller.Ref{Controller: "git-merge", Key: "good"}, Generation: 2, ReconcileID: "id"}
	tell := func(l *slog.Logger) {
		records := controller.Log(l)
		records.Observe(controller.PassStarted{PassInfo: pass})
		records.Observe(controller.PassEnded{PassInfo: pass, Outcome: controller.PassSettled, Duration: 12 * time.Millisecond})
		records.Observe(controller.PassEnded{
			PassInfo: pass, Outcome: controller.PassFailed, Reason: controller.ReasonErrorBackoff, After: 2 * time.Second,
			Err: errors.New("no\x1b[31m such\nbranch"),
		})
		records.Observe(controller.PassEnded{
			PassInfo: pass, Outcome: controller.PassFailed, Err: &controller.PanicError{In: "Reconcile", Value: 1, Stack: []byte("one\n\ttwo\n")},
		})
		l.With("a", 1).WithGroup("g").With("b", "x y").Info("told", "c", "", slog.Group("h", "d", 2), "key", "k")
	}
	want := `WARN  git-merge/good: pass outcome=failed durationMs=0 reason=error_backoff requeueAfterMs=2000 error="no such branch"
ERROR git-merge/good: pass outcome=failed durationMs=0 error="panic in Reconcile: 1"
    one
     two
INFO  told a=1 g.b="x y" g.c="" g.h.d=2 g.key=k
`
	if diff := cmp.Diff(want, logged(t, logLines, slog.LevelInfo, tell)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	verbose := logged(t, logLines, slog.LevelDebug, tell)
	first := "DEBUG git-merge/good: pass started generation=2 reconcileId=id lane=request waitedMs=0\n" +
		"DEBUG git-merge/good: pass generation=2 reconcileId=id outcome=settled durationMs=12\n"
	if !strings.HasPrefix(verbose, first) {
		t.Errorf("with -v the log is\n%s\nwant first\n%s", verbose, first)
	}
}

func TestALogIsWrittenForPrograms(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := New(Options{Stderr: &out})
	l := slog.New(a.logHandler(logJSON, slog.LevelInfo))
	at := time.Date(2026, 1, 2, 4, 4, 5, 6e6, time.FixedZone("", 3600))
	r := slog.NewRecord(at, slog.LevelInfo, "host started", 0)
	r.Add("controllers", []string{"a"})
	if err := l.Handler().Handle(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-01-02T03:04:05.006Z","level":"INFO","msg":"host started","controllers":["a"]}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
