// Package engine runs one validated graph and records it in a run bundle:
// attempts with their deadlines, outcomes, routing, cancellation, and the
// interruption of a run whose host stops.
//
// One goroutine drives a run and writes its bundle. Callbacks of the author run
// in goroutines of their own, so that a deadline is kept although a callback
// ignores its context; but the run never goes on while one still works.
//
// Spec: reference, workflow engine; design: A step.
package engine

import (
	"log/slog"
	"time"

	"github.com/google/uuid"

	"piworkflows/clock"
	"piworkflows/internal/durable"
	"piworkflows/runbundle/spool"
	"piworkflows/workflow"
)

// Defaults of Options.
const (
	// DefaultKillGrace lies between the SIGTERM and the SIGKILL of a command.
	DefaultKillGrace = time.Second
	// DefaultSettleGrace is how long an ended attempt may go on working: enough
	// for a command to be killed and a callback to notice, short enough that
	// nobody wonders what the run waits for.
	DefaultSettleGrace = 10 * time.Second
	// CallbackTimeout bounds the callbacks outside of attempts: input, title and
	// timeout of a node. They are meant to be pure and quick.
	CallbackTimeout = 30 * time.Second
	// CleanupTimeout bounds the cleanup of a run: whoever cancels a run waits for
	// it.
	CleanupTimeout = time.Minute
)

// Options configure an Engine. The zero value of a field takes its default.
type Options struct {
	// Clock measures everything; clock.System by default.
	Clock clock.Clock
	// FS is the file layer; the operating system's by default.
	FS *durable.FS
	// RunsDir is the folder that holds one folder for each run. Required; it is
	// made with its parents when the first run starts.
	RunsDir string
	// SpoolDir is the folder in which what commands and agents print is kept while
	// the run goes on, for those who look on; see room spool. It must not lie in
	// RunsDir. Empty keeps nothing.
	SpoolDir string
	// ProcessDir is the folder in which the commands that are under way are noted, so
	// that those of a process that was killed can be ended: see EndLeftovers. A run
	// whose command cannot be noted, on a full disk for example, stops without an end:
	// see Result.Err. Empty notes none.
	ProcessDir string
	// SpoolBytes bounds what is kept of one attempt; spool.DefaultBytes by default.
	SpoolBytes int64
	// Printed, if set, hears of what the commands and agents of each run print,
	// while they print it; see spool.Options.Tell. Runs at once call it at once.
	Printed func(runID string, p spool.Piece)
	// Logger receives what goes wrong without ending a run; nothing by default.
	Logger *slog.Logger
	// Agents answers agent nodes; without one they fail when they are reached.
	Agents AgentExecutor
	// Notifier takes what notify nodes send; without one they fail when they are
	// reached.
	Notifier Notifier
	// DefaultTimeout is the deadline of a node that has none of its own;
	// workflow.DefaultTimeout by default, workflow.NoTimeout for none.
	DefaultTimeout time.Duration
	// MaxSteps bounds the attempts of a run whose definition does not say;
	// workflow.DefaultMaxSteps by default.
	MaxSteps int
	// KillGrace lies between SIGTERM and SIGKILL; DefaultKillGrace by default.
	KillGrace time.Duration
	// SettleGrace bounds the wait for the callback and the process group of an
	// attempt that was ended; DefaultSettleGrace by default. It should be a good
	// deal longer than KillGrace: a run whose work goes on beyond it fails with
	// CodeUnsettled.
	SettleGrace time.Duration
	// NewID returns a random UUID; tests replace it.
	NewID func() string
}

// Engine starts runs. It holds no state of its own between them and is safe for
// concurrent use; whoever starts a run waits for its end.
type Engine struct{ o Options }

// New returns an engine.
func New(o Options) *Engine {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.FS == nil {
		o.FS = durable.OS()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	o.DefaultTimeout = orDefault(o.DefaultTimeout, workflow.DefaultTimeout)
	o.MaxSteps = orDefault(o.MaxSteps, workflow.DefaultMaxSteps)
	o.KillGrace = orDefault(o.KillGrace, DefaultKillGrace)
	o.SettleGrace = orDefault(o.SettleGrace, DefaultSettleGrace)
	return &Engine{o: o}
}

func orDefault[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}
