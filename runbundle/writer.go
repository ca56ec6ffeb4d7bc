package runbundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
	"piworkflows/secret"
)

// Writer is the owner of a bundle. It is safe for concurrent use. A goroutine
// of its own refreshes the projections when the run is quiet; Close ends it.
type Writer struct {
	o    Options
	dir  string
	lock *oslock.Lock
	long artifacts

	stop  context.CancelFunc // ends the goroutine
	done  chan struct{}      // closed when it has ended
	grown chan struct{}      // wakes it

	mu       sync.Mutex
	trace    *durable.AppendFile
	line     []byte    // of an earlier event, for its space
	state    State     // plain, without its steps
	doc      *document // the same in encoded form; it has the steps
	manifest Manifest
	shown    shown
	stale    bool      // the projections lag behind the state
	grewAt   time.Time // the last append
	ended    bool      // the last event of the run is durable
	closed   bool
	failed   error // why nothing is written any more
}

func newWriter(o Options, dir string, s State) *Writer {
	return &Writer{
		o: o, dir: dir, long: artifacts{fs: o.FS, dir: dir}, state: s, manifest: manifestOf(&s), stale: true,
		done: make(chan struct{}), grown: make(chan struct{}, 1),
	}
}

// begin opens the trace and starts the goroutine.
func (w *Writer) begin() (err error) {
	steps := &stepLog{fs: w.o.FS, path: w.path(stepsFile)}
	if w.doc, err = newDocument(&w.state, &w.long, steps); err != nil {
		return errors.Join(err, steps.close())
	}
	w.state.Steps = nil // they are in the log
	if w.trace, err = w.o.FS.OpenAppend(w.path(traceFile)); err != nil {
		return fmt.Errorf("open the trace: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go w.keepFresh(ctx)
	return nil
}

func (w *Writer) path(name string) string { return filepath.Join(w.dir, name) }

// Dir returns the folder of the bundle.
func (w *Writer) Dir() string { return w.dir }

// Append writes one event at the end of the trace and folds it into the state.
// It is not durable before Sync, except that the last event of a run is durable
// and projected when Append returns. The event comes back with its place.
//
// An error without an event (Seq is zero) means that the bundle is as before.
// With an event it means that the event is written, but less durable than it
// should be; see Ended.
func (w *Writer) Append(ctx context.Context, d Draft) (Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return Event{}, err
	}
	e, payload, err := w.place(d)
	if err != nil {
		return Event{}, err
	}
	if e.Type.ends() {
		if err := w.askFence(ctx); err != nil {
			return Event{}, err
		}
	}
	if err := w.write(e, payload); err != nil {
		return Event{}, fmt.Errorf("record %s: %w", e.Type, err)
	}
	if e.Type.ends() {
		return e, w.end()
	}
	w.follow(ctx, e.Type)
	return e, nil
}

// place gives an event its place after the last one. From here on nobody sees
// the secrets in it: neither the trace nor the state nor later steps.
func (w *Writer) place(d Draft) (Event, Payload, error) {
	payload, err := encodeJSON(d.Payload)
	if err != nil {
		return Event{}, nil, fmt.Errorf("record %s: %w", d.Payload.Type(), err)
	}
	kind := d.Payload.Type()
	e := Event{
		Seq: w.state.TraceSeq + 1, At: At(d.At), RunID: w.state.RunID, Scope: kind.scope(), Type: kind,
		NodeID: d.NodeID, AttemptID: d.AttemptID, Payload: secret.RedactJSON(payload),
	}
	if !bytes.Equal(e.Payload, payload) {
		if d.Payload, err = e.Decode(); err != nil {
			return Event{}, nil, fmt.Errorf("record %s: %w", kind, err)
		}
	}
	return e, d.Payload, w.state.admit(e, d.Payload)
}

// write appends the line of an event and folds it. What the line refers to is
// on disk before it.
func (w *Writer) write(e Event, p Payload) error {
	line, forDoc, err := w.encode(e, p)
	if err != nil {
		return err
	}
	text := appendLine(w.line[:0], line)
	if len(text) <= inlineBytes {
		w.line = text
	}
	if err := w.trace.Append(text); err != nil {
		return err // Append names the event
	}
	w.state.apply(e, p)
	w.state.forgetSteps()
	w.stale, w.grewAt = true, w.o.Clock.Now()
	if err := w.doc.apply(e, forDoc); err != nil {
		w.failed = err
	}
	return w.failed
}

// encode returns the encoded form of an event for the trace and of its payload
// for the document. Most payloads are the same in both forms.
func (w *Writer) encode(e Event, p Payload) (Event, Payload, error) {
	if isPlain(e.Payload) {
		return e, p, nil
	}
	encoded, err := w.long.encode(e.Payload)
	if err != nil {
		return e, p, err
	}
	e.Payload = encoded
	p, err = forState(p, encoded)
	return e, p, err
}

// Sync makes every event so far durable.
func (w *Writer) Sync(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.askFence(ctx); err != nil {
		return err
	}
	return w.syncTrace()
}

func (w *Writer) syncTrace() error {
	if err := w.trace.Sync(); err != nil {
		return fmt.Errorf("sync the trace of run %s: %w", w.state.RunID, err)
	}
	return nil
}

// askFence asks whether the bundle is still ours. If not, it was the last
// thing that this writer did.
func (w *Writer) askFence(ctx context.Context) error {
	if err := w.o.Fence(ctx); err != nil {
		w.failed = fmt.Errorf("run %s is not written any more: %w", w.state.RunID, err)
	}
	return w.failed
}

func (w *Writer) usable() error {
	if w.closed {
		return ErrClosed
	}
	return w.failed
}

// Close gives the bundle up: it brings the projections up to date, unless the
// writer failed, ends the goroutine and releases the lock. A second call does
// nothing.
func (w *Writer) Close() error { return w.release(true) }

func (w *Writer) release(refresh bool) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	var err error
	if refresh && w.stale && w.failed == nil {
		err = w.project(context.Background())
	}
	w.closed = true
	w.mu.Unlock()
	if w.stop != nil {
		w.stop()
		<-w.done
	}
	if w.trace != nil {
		err = errors.Join(err, w.trace.Close())
	}
	if w.doc != nil {
		err = errors.Join(err, w.doc.steps.close())
	}
	if w.lock != nil {
		err = errors.Join(err, w.lock.Remove())
	}
	return err
}

// Ended reports whether the last event of the run is durable.
func (w *Writer) Ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// State returns the state, which later events do not change. It reads every step
// back, so it is not for a run that goes on.
func (w *Writer) State() (State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	s.Outputs, s.Results = maps.Clone(s.Outputs), maps.Clone(s.Results)
	s.Updates = append([]Update{}, s.Updates...)
	s.Steps = make([]Step, w.doc.steps.count)
	plain := decoderIn(w.dir)
	defer plain.close()
	for i := range s.Steps {
		step, err := w.doc.steps.step(i)
		if err == nil {
			err = step.mapValues(plain.decode)
		}
		if err != nil {
			return State{}, err
		}
		s.Steps[i] = step
	}
	return s, nil
}

// Updates returns the latest update of each type and key, by seq.
func (w *Writer) Updates() []Update {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Update{}, w.state.Updates...)
}

// Output returns the output of a node's latest attempt if that was ok. The
// caller must not change it.
func (w *Writer) Output(node string) (json.RawMessage, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	output, ok := w.state.Outputs[node]
	return output, ok
}

// Result returns the record of a node's latest attempt. The caller must not
// change its output.
func (w *Writer) Result(node string) (Result, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.state.Results[node]
	return r, ok
}

// Steps returns the number of finished attempts so far.
func (w *Writer) Steps() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doc.steps.count
}

// Step reads a finished attempt back, from zero, oldest first. Its prompt is left
// out: it is long, and nothing is decided by it. The caller may keep the step.
func (w *Writer) Step(i int) (Step, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	step, err := w.doc.steps.step(i)
	if err != nil {
		return Step{}, err
	}
	plain := decoderIn(w.dir)
	defer plain.close()
	step.Prompt = nil
	return step, step.mapValues(plain.decode)
}
