package runbundle

import (
	"errors"
	"fmt"
)

// Sentinels of this package.
var (
	// ErrExists matches every *ExistsError.
	ErrExists = errors.New("run bundle exists")
	// ErrEnded refuses an event after the end of a run: a terminal bundle never
	// changes. It matches every *EndedError.
	ErrEnded = errors.New("the run has ended and its bundle does not change any more")
	// ErrClosed refuses to write through a writer after Close.
	ErrClosed = errors.New("the run bundle is closed")
)

// IDError refuses a run ID that would be no safe name of a folder.
type IDError struct{ RunID string }

func (e *IDError) Error() string {
	return fmt.Sprintf("%.220q is no run ID: begin with a letter or digit, go on with at most 199 letters, digits, `.`, `_` and `-`", e.RunID)
}

// ErrorCode is the stable code of the error.
func (*IDError) ErrorCode() string { return "invalid_run_id" }

// ExistsError says that a bundle of that run ID exists. It was left alone.
type ExistsError struct{ RunID, Dir string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("run %s has a bundle already at %s: take another run ID, or look at it with view", e.RunID, e.Dir)
}

// Is makes every ExistsError match ErrExists.
func (*ExistsError) Is(target error) bool { return target == ErrExists }

// ErrorCode is the stable code of the error.
func (*ExistsError) ErrorCode() string { return "run_exists" }

// EndedError says that a run has ended, so that it cannot go on in its bundle.
type EndedError struct {
	RunID  string
	Status Status
}

func (e *EndedError) Error() string {
	if e.Status == Waiting {
		return fmt.Sprintf("run %s waits for an answer and goes on in a continuation: answer it", e.RunID)
	}
	return fmt.Sprintf("run %s has ended as %s and its bundle does not change any more: start the workflow anew", e.RunID, e.Status)
}

// Is makes every EndedError match ErrEnded.
func (*EndedError) Is(target error) bool { return target == ErrEnded }

// ErrorCode is the stable code of the error.
func (*EndedError) ErrorCode() string { return "run_ended" }

// CorruptError says that a file of a bundle is not what the format says.
// Nothing of the bundle was changed.
type CorruptError struct {
	// Path is the file.
	Path string
	// Line counts the lines of a trace from one; zero is the whole file.
	Line int
	// Err says what is wrong with it.
	Err error
}

func (e *CorruptError) Error() string {
	place := e.Path
	if e.Line > 0 {
		place = fmt.Sprintf("%s, line %d", e.Path, e.Line)
	}
	return fmt.Sprintf("corrupt run bundle: %s: %v; restore the file, or move the bundle out of the runs folder", place, e.Err)
}

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of the error.
func (*CorruptError) ErrorCode() string { return "corrupt_bundle" }

// UnknownSchemaError says that a file was written in a format that this program
// does not know. Nothing of the bundle was changed.
type UnknownSchemaError struct {
	// Path is the file, Schema what it says, Want what we read.
	Path, Schema, Want string
}

func (e *UnknownSchemaError) Error() string {
	return fmt.Sprintf("%s has the schema %.100q, this program reads %s: use the program that wrote it, or a newer version of this one",
		e.Path, e.Schema, e.Want)
}

// ErrorCode is the stable code of the error.
func (*UnknownSchemaError) ErrorCode() string { return "unknown_bundle_schema" }
