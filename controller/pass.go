package controller

import (
	"context"
	"log/slog"
)

// Pass is what the runtime offers a reconciler during one pass. It must not be
// kept after Reconcile returned.
type Pass struct {
	// ID is the reconcile ID that events and logs of this pass carry.
	ID string
	// Effects changes the outside; Workflows starts child runs.
	Effects   Effects
	Workflows Workflows
	// Log carries controller, key, generation and reconcile ID.
	Log *slog.Logger
}

// Effects makes recorded changes of the outside.
//
// Spec: External effects.
type Effects interface {
	// Ensure records the effect, observes it if an earlier pass left it
	// unfinished, and applies it if it is not there. It returns the record, whose
	// State says what is known. One pass applies at most one effect: another
	// one is ErrSecondApply. A pass that applied runs again even if it settles;
	// one that leaves an effect in doubt backs off and counts as an error.
	Ensure(ctx context.Context, e Effect) (EffectRecord, error)
}

// Workflows requests child runs.
//
// Spec: Child workflows.
type Workflows interface {
	// Ensure finds the child run of a request key or starts it; the first call
	// and one after an interrupted attempt queue an attempt. It returns at once
	// with the state known now; the end of the run wakes the resource.
	Ensure(ctx context.Context, r WorkflowRequest) (ChildRun, error)
	// CancelOthers ends the child runs of the resource that nobody wants any more: all
	// but the one that was asked for under the key keep; "" keeps none. The reason is
	// for people, with a default of its own. What nobody runs has ended when it returns,
	// as RunFailed with CodeCancelled; what a host runs is told to stop, is returned,
	// and wakes the resource by its end, which is a success if it came first. A pass
	// that must not have two runs at once settles until none is returned, and only
	// then calls Ensure. To repeat it changes nothing.
	CancelOthers(ctx context.Context, keep, reason string) (running []ChildRun, err error)
}
