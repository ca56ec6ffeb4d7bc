package runbundle

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
)

// TraceFile is the file of a bundle that grows with the run: whoever watches it
// knows when to call [Bundle.Next].
const TraceFile = traceFile

var errShrunk = errors.New("it is shorter than it was: lines that were whole are gone")

// Next returns the bundle as it is now, having read only what was added since;
// b itself if that is nothing. It never changes b, which others may go on
// reading, but it may be called on the latest bundle only. Workflow and the
// other documents are not read again. The errors are those of [Read].
func (b *Bundle) Next() (*Bundle, error) {
	if b.State.Status.Terminal() {
		return b, nil
	}
	r, err := openReader(b.Dir)
	if err != nil {
		return nil, err
	}
	defer r.root.Close()
	next := b.copy()
	if err := r.trace(next); err != nil {
		return nil, err
	}
	if len(next.Events) == len(b.Events) {
		return b, nil
	}
	if err := next.foldTail(); err != nil {
		return nil, &CorruptError{Path: filepath.Join(b.Dir, traceFile), Err: err}
	}
	next.settle()
	return next, nil
}

// copy shares what is only ever appended to and what nobody changes.
func (b *Bundle) copy() *Bundle {
	next := *b
	next.State.Outputs = maps.Clone(b.State.Outputs)
	next.State.Results = maps.Clone(b.State.Results)
	next.State.Updates = slices.Clone(b.State.Updates)
	return &next
}
