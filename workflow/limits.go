package workflow

import "time"

// The bounds and defaults of a workflow.
const (
	// MaxValueBytes bounds the JSON text of a run input, a node output and an
	// agent submission.
	MaxValueBytes = 1 << 20
	// MaxNodes bounds the nodes of one definition. It is far beyond what a
	// person can read and keeps a generated graph from filling the memory.
	MaxNodes = 10_000
	// MaxNameBytes bounds the name of a workflow and each ID in it.
	MaxNameBytes = 256
	// MaxSnapshotBytes bounds the JSON text of a compiled definition.
	MaxSnapshotBytes = 8 << 20
	// DefaultMaxSteps is how many attempts a run has if its definition does not
	// say.
	DefaultMaxSteps = 100
	// DefaultTimeout is the deadline of an attempt if its node does not say.
	DefaultTimeout = 15 * time.Minute
)
