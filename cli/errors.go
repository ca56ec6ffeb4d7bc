package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/canonical"
	"piworkflows/secret"
	"piworkflows/view"
	"piworkflows/workflow"
)

// The exit codes. Spec: command line, Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitTimeout     = 5
	exitInterrupted = 130
)

// ErrInterrupted is the cause of an ended context that stands for a signal; the
// command ends with exit code 130.
var ErrInterrupted = errors.New("interrupted")

// cutsOff reports whether an error says what a stop cut off: that is told, and is
// more than an interruption.
func cutsOff(err error) bool {
	_, late := errors.AsType[*host.DrainError](err)
	_, abandoned := errors.AsType[*controller.StopError](err)
	return late || abandoned
}

// codes maps the stable codes of errors to exit codes. A code that is not here
// is a failure.
var codes = map[string]int{
	"usage":                exitUsage,
	"invalid_json":         exitUsage,
	"invalid_input":        exitUsage,
	"invalid_name":         exitUsage,
	"invalid_spec":         exitUsage,
	"invalid_workflow":     exitUsage,
	"invalid_run_id":       exitUsage,
	"invalid_script":       exitUsage,
	"invalid_cursor":       exitUsage,
	"invalid_project":      exitUsage,
	"invalid_file":         exitUsage,
	"invalid_secret_ref":   exitUsage,
	"invalid_notify_hook":  exitUsage,
	"secret_in_value":      exitUsage,
	"limit_exceeded":       exitUsage,
	"duplicate_definition": exitUsage,
	"not_a_demo":           exitUsage,
	"shared_store":         exitUsage,
	"invalid_ref_name":     exitUsage,
	"repository_missing":   exitUsage,
	"unsupported_store":    exitUsage,
	"foreign_store":        exitUsage,
	"store_version":        exitUsage,
	"store_schema":         exitUsage,
	"not_a_copy":           exitUsage,
	"copy_exists":          exitConflict,
	"store_open":           exitConflict,
	"store_unreadable":     exitConflict,
	"other_project":        exitConflict,
	"store_replaced":       exitConflict,
	"not_found":            exitNotFound,
	"run_not_found":        exitNotFound,
	"run_not_recorded":     exitNotFound,
	"run_held":             exitConflict,
	"run_ended":            exitConflict,
	"run_not_running":      exitConflict,
	"already_answered":     exitConflict,
	"not_waiting":          exitConflict,
	"child_run":            exitConflict,
	"source_changed":       exitConflict,
	"node_gone":            exitConflict,
	"step_not_found":       exitNotFound,
	"node_not_found":       exitNotFound,
	"file_not_found":       exitNotFound,
	"unknown_controller":   exitNotFound,
	"unknown_workflow":     exitNotFound,
	"version_conflict":     exitConflict,
	"being_deleted":        exitConflict,
	"host_running":         exitConflict,
	"listen_unguarded":     exitUsage,
	"invalid_address":      exitUsage,
	"claim_lost":           exitConflict,
	"effect_conflict":      exitConflict,
	"effect_not_found":     exitNotFound,
	"effect_resolved":      exitConflict,
	"effect_busy":          exitConflict,
	"invalid_verdict":      exitUsage,
	"child_conflict":       exitConflict,

	"force_without_reason": exitUsage,
	"finalizer_not_found":  exitNotFound,
	"effects_unfinished":   exitConflict,
	"wait_timeout":         exitTimeout,
	"interrupted":          exitInterrupted,
}

// exitCode is the one place that maps an error to the exit code of the process.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if code, ok := codes[codeOf(err)]; ok {
		return code
	}
	return exitFailed
}

// coded is an error with a stable code.
type coded interface{ ErrorCode() string }

// codeOf returns the stable code of an error.
func codeOf(err error) string {
	if errors.Is(err, ErrInterrupted) || errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if c, ok := errors.AsType[interface {
		error
		coded
	}](err); ok {
		return c.ErrorCode()
	}
	if _, ok := errors.AsType[*canonical.Error](err); ok {
		return "invalid_json"
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "file_not_found"
	}
	return "failed"
}

// report writes an error to stderr: a line for people and, if JSON is wanted,
// an object for programs.
func (a *App) report(err error, asJSON bool) {
	fmt.Fprintf(a.o.Stderr, "%s: %s\n", a.o.Name, message(err))
	if asJSON {
		writeErrorJSON(a.o.Stderr, err)
	}
}

// message is an error on one line, but for a list of problems with each on its
// own.
func message(err error) string {
	if errors.Is(err, ErrInterrupted) {
		return ErrInterrupted.Error()
	}
	if _, ok := errors.AsType[*workflow.InvalidError](err); ok {
		return view.PlainLines(secret.Redact(err.Error()))
	}
	return view.Plain(secret.Redact(err.Error()))
}

// writeErrorJSON writes {"error":{"code","message",…}} with the fields of the
// error.
func writeErrorJSON(w io.Writer, err error) {
	body := errorBody{codeOf(err), message(err), errorFields(err)}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]errorBody{"error": body}); err != nil {
		fmt.Fprintf(w, "{\"error\":{\"code\":%q}}\n", body.code)
	}
}

// errorBody is an error as JSON: code, message, and the fields of its type.
type errorBody struct {
	code, message string
	fields        fields
}

// MarshalJSON puts the two fields that every error has before the others.
func (b errorBody) MarshalJSON() ([]byte, error) {
	first, err := canonical.Marshal(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{b.code, b.message})
	if err != nil || len(b.fields) == 0 {
		return first, err
	}
	rest, err := canonical.Marshal(b.fields)
	if err != nil {
		return nil, err
	}
	rest = secret.RedactJSON(rest)
	return slices.Concat(first[:len(first)-1], []byte{','}, rest[1:]), nil
}

// UsageError says that a command was called wrongly.
type UsageError struct {
	// Command is the full name of the command, the program included.
	Command string
	Reason  string
}

func (e *UsageError) Error() string {
	return fmt.Sprintf("%s: see `%s --help`", e.Reason, e.Command)
}

// ErrorCode is the stable code of the error.
func (*UsageError) ErrorCode() string { return "usage" }

func wrongUsage(cmd *cobra.Command, format string, args ...any) error {
	return &UsageError{Command: cmd.CommandPath(), Reason: fmt.Sprintf(format, args...)}
}

// TimeoutError says that what a command waited for did not come in time.
type TimeoutError struct {
	// For names what was waited for, Last how it stands now.
	For, Last string
	Timeout   time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("waited %s for %s in vain; %s: wait longer with --timeout, or see with explain who acts next",
		e.Timeout, e.For, e.Last)
}

// ErrorCode is the stable code of the error.
func (*TimeoutError) ErrorCode() string { return "wait_timeout" }
