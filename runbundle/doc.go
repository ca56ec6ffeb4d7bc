// Package runbundle is the record of a run on disk: a folder with the
// definition that ran, a trace that only grows, and two projections of it that
// readers open first.
//
// The trace is the truth. [Fold] is the one place that says what an event does
// to the state; the writer, the readers and the repair all use it, so a reader
// who folds the end of the trace into a projection has the state of the writer.
//
// The owner keeps no finished steps in memory: their text lies in a scratch file
// without a name, is copied from there into state.json, and is read back when
// somebody asks for a step.
//
// A bundle has one owner, who holds the OS lock on its folder (on Windows, on a
// file owner.lock in it, which goes when the owner closes the bundle). Readers
// need no lock and look at no file but their own.
//
// Spec: run bundle format; design: A step.
package runbundle
