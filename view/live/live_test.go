package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"

	"piworkflows/runbundle"
	"piworkflows/view"
)

// What a terminal is told to enter and to leave the screen that covers it, and
// to hide and to show its cursor.
const (
	cover, uncover = "\x1b[?1049h", "\x1b[?1049l"
	hide, show     = "\x1b[?25l", "\x1b[?25h"
)

// terminal takes what a program writes, and tells when a text came.
type terminal struct {
	mu     sync.Mutex
	text   bytes.Buffer
	grew   chan struct{}
	keys   *io.PipeWriter
	result chan error
}

func (w *terminal) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.grew)
	w.grew = make(chan struct{})
	return w.text.Write(text)
}

func (w *terminal) await(t *testing.T, text string) {
	t.Helper()
	for {
		w.mu.Lock()
		found, grew := strings.Contains(w.text.String(), text), w.grew
		w.mu.Unlock()
		if found {
			return
		}
		select {
		case <-grew:
		case <-t.Context().Done():
			t.Fatalf("%q was never written", text)
		}
	}
}

// start shows a record until the test leaves.
func start(ctx context.Context, t *testing.T, r *record) *terminal {
	t.Helper()
	keys, input := io.Pipe()
	w := &terminal{grew: make(chan struct{}), keys: input, result: make(chan error, 1)}
	o := Options{
		Bundle: r.read(), Clock: r.clock, Palette: view.Colors(), Input: keys, Output: w,
		Environ: []string{"TERM=xterm-256color", "COLORTERM=truecolor"},
	}
	go func() { w.result <- run(ctx, o, tea.WithWindowSize(80, 24)) }()
	t.Cleanup(func() { input.Close(); keys.Close() })
	return w
}

// restored checks that the terminal is as it was.
func (w *terminal) restored(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text.String()
	for _, pair := range [][2]string{{cover, uncover}, {hide, show}} {
		if strings.Contains(text, pair[0]) && strings.LastIndex(text, pair[1]) < strings.LastIndex(text, pair[0]) {
			t.Errorf("%q is not taken back by %q", pair[0], pair[1])
		}
	}
	if !strings.Contains(text, cover) {
		t.Error("the screen was never covered")
	}
}

func TestAPersonLeaves(t *testing.T) {
	t.Parallel()
	w := start(t.Context(), t, ended(t))
	w.await(t, "the end")
	if _, err := w.keys.Write([]byte("q")); err != nil {
		t.Fatal(err)
	}
	if err := <-w.result; err != nil {
		t.Errorf("error = %v", err)
	}
	w.restored(t)
}

func TestTheRunIsSeenToGoOn(t *testing.T) {
	t.Parallel()
	r := loop(t)
	w := start(t.Context(), t, r)
	w.await(t, "following")
	pass(t, r, breath)
	r.in("repair", runbundle.NodeEnded{Outcome: runbundle.OutcomeOK, Output: []byte(`{"mended":true}`)})
	w.await(t, "mended")
	if _, err := w.keys.Write([]byte("q")); err != nil {
		t.Fatal(err)
	}
	if err := <-w.result; err != nil {
		t.Errorf("error = %v", err)
	}
	w.restored(t)
}

func TestAnInterruptionLeaves(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	w := start(ctx, t, loop(t))
	w.await(t, "following")
	stop(stopped)
	if err := <-w.result; !errors.Is(err, stopped) {
		t.Errorf("error = %v", err)
	}
	w.restored(t)
}

func TestAStepThatIsNotThereLeavesTheTerminalAlone(t *testing.T) {
	t.Parallel()
	r := loop(t)
	var out bytes.Buffer
	err := Run(t.Context(), Options{Bundle: r.read(), Clock: r.clock, Step: 99, Input: strings.NewReader(""), Output: &out})
	if _, ok := errors.AsType[*view.StepError](err); !ok || out.Len() > 0 {
		t.Errorf("error = %v, %d bytes written", err, out.Len())
	}
}
