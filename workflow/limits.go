package workflow

import "time"

const (
	// MaxValueBytes bounds the JSON text of a run input, a node output and an
	// agent submission.
	MaxValueBytes = 1 << 20
	// MaxNodes bounds the nodes of one definition.
	MaxNodes = 10_000
	// DefaultMaxSteps is how many attempts a run has if its definition does not
	// say.
	DefaultMaxSteps = 100
	// DefaultTimeout is the deadline of an attempt if its node does not say.
	DefaultTimeout = 15 * time.Minute
)
