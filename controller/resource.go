// Package controller keeps comparing a requested state with what is really
// there: durable resources with spec and status, conditions and generations, a
// deduplicated work queue, effects that are recorded before they are tried, and
// child workflow runs. It imports no store, no engine and no terminal.
//
// Spec: controller runtime.
package controller

import (
	"encoding/json"
	"slices"
	"time"
)

// Ref names one resource within the project of its store.
type Ref struct {
	// Controller is the name of a definition: ^[a-z][a-z0-9-]*$, at most
	// MaxName characters.
	Controller string
	// Key is 1 to MaxKey characters without control characters.
	Key string
}

// String writes the reference as controller/key.
func (r Ref) String() string { return r.Controller + "/" + r.Key }

// Resource is the durable record of one requested outcome: callers own Spec,
// the controller owns Status. S and T are the author's types; stores and
// command lines use Raw.
//
// Spec: Resource model.
type Resource[S, T any] struct {
	Metadata Metadata  `json:"metadata"`
	Spec     S         `json:"spec"`
	Status   Status[T] `json:"status"`
}

// Raw is a resource whose spec and controller status are JSON text, canonical
// in the sense of RFC 8785.
type Raw = Resource[json.RawMessage, json.RawMessage]

// Metadata identifies a resource and its version.
type Metadata struct {
	// UID is stable for the life of the resource and never used again.
	UID        string `json:"uid"`
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// ResourceVersion changes with every real write: the compare-and-swap token.
	ResourceVersion int64 `json:"resourceVersion"`
	// Generation changes only when the canonical spec changes.
	Generation int64 `json:"generation"`
	// DeletionTimestamp is set once deletion was requested.
	DeletionTimestamp *time.Time `json:"deletionTimestamp,omitempty"`
	// Finalizers hold the deletion back until each is removed.
	Finalizers []string `json:"finalizers"`
}

// Ref returns the reference of the resource.
func (m Metadata) Ref() Ref { return Ref{m.Controller, m.Key} }

// Deleting reports whether deletion was requested.
func (m Metadata) Deleting() bool { return m.DeletionTimestamp != nil }

// Status is the latest known state.
type Status[T any] struct {
	// ObservedGeneration is the generation that produced this status; zero
	// before the first pass. The runtime owns it.
	ObservedGeneration int64       `json:"observedGeneration"`
	Conditions         []Condition `json:"conditions"`
	// WorkflowRun is the current child run. The runtime keeps it.
	WorkflowRun *WorkflowRun `json:"workflowRun,omitempty"`
	// ControllerStatus is the author's own state.
	ControllerStatus T `json:"controllerStatus"`
}

// WorkflowRun points from a resource to its current child run.
type WorkflowRun struct {
	RequestID string   `json:"requestId"`
	RunID     string   `json:"runId,omitempty"`
	State     RunState `json:"state"`
	Attempt   int      `json:"attempt"`
}

// RunState is the state of one child attempt.
type RunState string

// The states of a child attempt. Succeeded, failed and interrupted are final
// for the attempt; an interrupted one is followed by another attempt.
const (
	RunPending     RunState = "pending"
	RunRunning     RunState = "running"
	RunWaiting     RunState = "waiting"
	RunSucceeded   RunState = "succeeded"
	RunFailed      RunState = "failed"
	RunInterrupted RunState = "interrupted"
)

// Final reports whether the attempt has ended. A waiting attempt has not: its
// continuation goes on.
func (s RunState) Final() bool {
	return s == RunSucceeded || s == RunFailed || s == RunInterrupted
}

// cloneRaw copies a resource with everything it points to, for code that may
// change what it was given.
func cloneRaw(r Raw) Raw {
	m, s := &r.Metadata, &r.Status
	m.Finalizers = slices.Clone(m.Finalizers)
	m.DeletionTimestamp = clonePointer(m.DeletionTimestamp)
	r.Spec = slices.Clone(r.Spec)
	s.Conditions = slices.Clone(s.Conditions)
	s.WorkflowRun = clonePointer(s.WorkflowRun)
	s.ControllerStatus = slices.Clone(s.ControllerStatus)
	return r
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
