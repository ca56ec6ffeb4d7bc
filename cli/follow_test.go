package cli

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// house is a project with places of its own.
type house struct {
	t     *testing.T
	flags []string
}

func newHouse(t *testing.T) house {
	t.Helper()
	dir := t.TempDir()
	return house{t, []string{
		"--project", dir, "--store", filepath.Join(dir, "store.sqlite"), "--runs", filepath.Join(dir, "runs"),
	}}
}

func (h house) app(out, errs io.Writer) *App {
	return New(Options{
		Definitions: testDefinitions(), Stdout: out, Stderr: errs, Stdin: strings.NewReader(""),
		Getenv: func(string) string { return "" }, Actor: "ada@engine",
	})
}

// do runs a command that has to end with an exit code, and returns its stdout.
func (h house) do(code int, args ...string) string {
	h.t.Helper()
	var out, errs strings.Builder
	if got := h.app(&out, &errs).Execute(h.t.Context(), append(args, h.flags...)); got != code {
		h.t.Fatalf("%v: exit code %d, want %d: %s", args, got, code, errs.String())
	}
	return out.String()
}

// follow starts a command that goes on.
func (h house) follow(args ...string) *follower {
	ctx, cancel := context.WithCancel(h.t.Context())
	r, w := io.Pipe()
	f := &follower{t: h.t, lines: bufio.NewScanner(r), cancel: cancel, code: make(chan int, 1)}
	go func() {
		defer w.Close()
		f.code <- h.app(w, io.Discard).Execute(ctx, append(args, h.flags...))
	}()
	h.t.Cleanup(func() { cancel(); r.Close() })
	return f
}

type follower struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
	code   chan int
}

// expect reads on until a line contains a text.
func (f *follower) expect(text string) string {
	f.t.Helper()
	for f.lines.Scan() {
		if strings.Contains(f.lines.Text(), text) {
			return f.lines.Text()
		}
	}
	f.t.Fatalf("the output ended without %q", text)
	return ""
}

// end cancels the command, unless it has ended by itself, and checks its code.
func (f *follower) end(code int) {
	f.t.Helper()
	f.cancel()
	for f.lines.Scan() {
	}
	if got := <-f.code; got != code {
		f.t.Errorf("exit code %d, want %d", got, code)
	}
}

func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.do(exitDone, "apply", "echo", "one", "--spec", `{"text":"a"}`)
	text, objects := h.follow("events", "--follow"), h.follow("events", "--follow", "-o", "json")
	text.expect("resource_applied")
	objects.expect(`"type":"resource_applied"`)

	h.do(exitDone, "apply", "echo", "one", "--spec", `{"text":"b"}`)
	if line := text.expect("echo/one"); !strings.Contains(line, "resource_updated") {
		t.Errorf("the next line is %q", line)
	}
	line := objects.expect("pi-workflows.cli.events.v1")
	if !strings.Contains(line, "resource_updated") || strings.Contains(line, "resource_applied") {
		t.Errorf("the next result is %s", line)
	}
	text.end(exitInterrupted)
	objects.end(exitInterrupted)
}

func TestEventsAreFollowedFromACursor(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.do(exitDone, "apply", "echo", "one", "--spec", `{"text":"a"}`)
	_, next, _ := strings.Cut(h.do(exitDone, "events", "-o", "json"), `"next": "`)
	next, _, _ = strings.Cut(next, `"`)
	h.do(exitDone, "apply", "echo", "two", "--spec", `{"text":"b"}`)
	f := h.follow("events", "--follow", "--after", next)
	if line := f.expect("echo/"); !strings.Contains(line, "echo/two") {
		t.Errorf("the first line is %q", line)
	}
	f.end(exitInterrupted)
}

func TestResourcesAreWatched(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.do(exitDone, "apply", "echo", "one", "--spec", `{"text":"a"}`)
	text, objects := h.follow("controllers", "--watch"), h.follow("controllers", "echo", "-w", "-o", "json")
	text.expect("CONTROLLER")
	text.expect("one")
	objects.expect(`"generation":1`)

	h.do(exitDone, "apply", "echo", "one", "--spec", `{"text":"b"}`)
	text.expect("echo        one  unknown  NotObserved    2  no_host")
	objects.expect(`"generation":2`)

	h.do(exitDone, "delete", "echo", "one")
	text.expect("echo        one  -        (deleted)")
	objects.expect(`"resources":[],"deleted":[{"controller":"echo","key":"one"}]`)
	text.end(exitInterrupted)
	objects.end(exitInterrupted)
}

func TestAResourceIsWatchedToItsEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.do(exitDone, "apply", "echo", "one", "--spec", `{"text":"a"}`)
	text, objects := h.follow("controller", "echo", "one", "--watch"), h.follow("controller", "echo", "one", "-w", "-o", "json")
	text.expect("generation  1, observed 0")
	objects.expect(`"generation":1`)
	h.do(exitDone, "apply", "echo", "one", "--spec", `{"text":"b"}`)
	text.expect("generation  2, observed 0")
	objects.expect(`"generation":2`)
	h.do(exitDone, "delete", "echo", "one")
	for _, f := range []*follower{text, objects} {
		for f.lines.Scan() {
		}
		if got := <-f.code; got != exitDone {
			t.Errorf("exit code %d, want %d", got, exitDone)
		}
	}
}

func TestAnEndedContextIsAnInterruption(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.do(exitDone, "apply", "echo", "one", "--spec", `{"text":"a"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"wait", "echo", "one", "--for", "condition=Ready"}, {"controllers"}, {"host", "--once"},
		{"run", "greet", "--input", `{"name":"Ada"}`},
	} {
		var errs strings.Builder
		if got := h.app(io.Discard, &errs).Execute(ctx, append(args, h.flags...)); got != exitInterrupted {
			t.Errorf("%v: exit code %d: %s", args, got, errs.String())
		}
		if !strings.Contains(errs.String(), "pi-workflows: interrupted\n") {
			t.Errorf("%v: stderr is %q", args, errs.String())
		}
	}
}
