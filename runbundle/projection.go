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
	p := &projection{w: w}
	err := p.write()
	if err == nil {
		err = w.o.FS.Sync(p.syncers(w.trace)...)
	}
	if err == nil {
		err = p.place()
	}
	return p.done(err)
}

// projection is the new content of state.json and, if it changed, of
// manifest.json.
type projection struct {
	w *Writer
	// founding says that the bundle is new: readers look for the manifest first,
	// so all other files have their places from the beginning.
	founding bool
	// files are in the order in which they are put in their places.
	files []*durable.Pending
	shown shown
}

// write writes the projections, beside the old ones if there are any.
func (p *projection) write() error {
	w := p.w
	p.shown = shown{at: w.o.Clock.Now(), traceSize: w.trace.Size(), stepsSize: w.doc.steps.size}
	err := p.add(stateFile, func(to io.Writer) (err error) {
		p.shown.stateSize, err = w.doc.write(to)
		return err
	})
	if err != nil {
		return err
	}
	w.manifest.Status, w.manifest.FinishedAt = w.state.Status, w.state.FinishedAt
	if p.shown.manifest, err = documentText(&w.manifest); err != nil {
		return err
	}
	p.shown.written = w.shown.written + p.shown.stateSize
	if bytes.Equal(p.shown.manifest, w.shown.manifest) {
		return nil
	}
	p.shown.written += int64(len(p.shown.manifest))
	return p.add(manifestFile, whole(p.shown.manifest))
}

func whole(text []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(text)
		return err //nolint:wrapcheck // the file layer names the file
	}
}

func (p *projection) add(name string, content func(io.Writer) error) error {
	write := p.w.o.FS.Prepare
	if p.founding && name != manifestFile {
		write = p.w.o.FS.Create
	}
	file, err := write(p.w.path(name), content)
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

// done notes what is on disk now, or, after an error, discards what is not in its
// place.
func (p *projection) done(err error) error {
	if err == nil {
		p.w.shown, p.w.stale = p.shown, false
		return nil
	}
	err = fmt.Errorf("write the projections of run %s: %w", p.w.state.RunID, err)
	for _, file := range p.files {
		err = errors.Join(err, file.Discard())
	}
	return err
}

// place puts the files in their places, in this order, and makes that last.
func (p *projection) place() error {
	for _, file := range p.files {
		if err := file.Place(); err != nil {
			return err
		}
	}
	return p.w.o.FS.SyncDir(p.w.dir)
}
