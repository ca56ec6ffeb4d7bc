package host

import (
	"piworkflows/runbundle"
	"piworkflows/runqueue"
)

// The states that a run shows besides those of rows and bundles; see
// docs/state-machines.md.
const (
	// StatusInterrupted is a run whose process is gone, or a child run whose host
	// stopped.
	StatusInterrupted = "interrupted"
	// StatusPaused is a run that holds, or is to hold, before its next step.
	StatusPaused = "paused"
	// StatusAnswered is a waiting run that was answered: its continuation goes on.
	StatusAnswered = "answered"
)

// RunStatus says in one word where a run stands, from its row and the summary of its
// bundle, which is nil if there is none.
func RunStatus(row runqueue.Row, b *runbundle.Summary) string {
	switch {
	case b != nil && b.Interrupted:
		return StatusInterrupted
	case b != nil && b.Status == runbundle.Waiting && row.ContinuedBy != "":
		return StatusAnswered
	case b != nil && b.Status == runbundle.Waiting && row.Status == runqueue.Cancelled:
		return string(runbundle.Cancelled)
	case b != nil && b.Status.Terminal():
		return string(b.Status)
	case holds(row):
		return StatusPaused
	case row.Interrupted():
		return StatusInterrupted
	default:
		return string(row.Status)
	}
}

// holds reports whether somebody keeps a run from its next step that would go on else.
func holds(row runqueue.Row) bool {
	return row.Paused && !row.Status.Final() && (row.Holder != "" || row.Detached)
}
