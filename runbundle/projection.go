package runbundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"piworkflows/internal/durable"
)

// shown is what the projections on disk show, and what they have cost.
type shown struct {
	at        time.Time
	traceSize int64
	stateSize int64
	stepsSize int64 // the part of state.json that is steps
	manifest  []byte
	written   int64 // the bytes of all of them so far
}

// end makes the last event of the run durable and shows it.
func (w *Writer) end() error {
	err := w.replace()
	if err != nil && !w.trace.Lasts() { // it lasts, whatever becomes of the projections
		err = errors.Join(w.syncTrace(), err)
	}
	w.ended = w.trace.Lasts()
	return err
}

// project writes the projections while the run is still ours.
func (w *Writer) project(ctx context.Context) error {
	if err := w.askFence(ctx); err != nil {
		return err
	}
	return w.replace()
}

// replace writes state.json, then manifest.json if it changed: readers take a
// run for settled once both are final. The trace lasts before either is in its
// place, so that no power loss leaves a state that is ahead of it. One that
// keeps the one and not the other leaves what the trace tells.
func (w *Writer) replace() error {
	p, err := w.prepare()
	if err != nil {
		return err
	}
	err = w.o.FS.Sync(p.syncers(w.trace)...)
	if err == nil {
		err = w.putInPlace(p.files...)
	}
	if err != nil {
		return p.abandon(err)
	}
	w.show(p)
	return nil
}

// projection is the new content of state.json and, if it changed, of
// manifest.json. The files are in the order of their places.
type projection struct {
	w     *Writer
	files []*durable.Pending
	shown shown
}

// prepare writes the projections beside the old ones.
func (w *Writer) prepare() (*projection, error) {
	p := &projection{w: w, shown: w.shown}
	p.shown.at, p.shown.traceSize, p.shown.stepsSize = w.o.Clock.Now(), w.trace.Size(), w.doc.steps.size
	err := p.add(stateFile, func(to io.Writer) (err error) {
		p.shown.stateSize, err = w.doc.write(to)
		return err
	})
	p.shown.written += p.shown.stateSize
	w.manifest.Status, w.manifest.FinishedAt = w.state.Status, w.state.FinishedAt
	if err == nil {
		p.shown.manifest, err = documentText(&w.manifest)
	}
	if err == nil && !bytes.Equal(p.shown.manifest, w.shown.manifest) {
		p.shown.written += int64(len(p.shown.manifest))
		err = p.add(manifestFile, whole(p.shown.manifest))
	}
	if err != nil {
		return nil, p.abandon(err)
	}
	return p, nil
}

func whole(text []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(text)
		return err //nolint:wrapcheck // the file layer names the file
	}
}

func (p *projection) add(name string, content func(io.Writer) error) error {
	file, err := p.w.o.FS.Prepare(p.w.path(name), content)
	if err == nil {
		p.files = append(p.files, file)
	}
	return err
}

// syncers returns what has to last before the files are put in their places.
func (p *projection) syncers(first ...durable.Syncer) []durable.Syncer {
	for _, file := range p.files {
		first = append(first, file)
	}
	return first
}

// abandon discards what is not in its place because of an error.
func (p *projection) abandon(err error) error {
	err = fmt.Errorf("write the projections of run %s: %w", p.w.state.RunID, err)
	for _, file := range p.files {
		err = errors.Join(err, file.Discard())
	}
	return err
}

// putInPlace puts files in their places, in this order, and makes that last.
func (w *Writer) putInPlace(files ...*durable.Pending) error {
	for _, file := range files {
		if err := file.Place(); err != nil {
			return err
		}
	}
	return w.o.FS.SyncDir(w.dir)
}

// show notes what is on disk now.
func (w *Writer) show(p *projection) { w.shown, w.stale = p.shown, false }
