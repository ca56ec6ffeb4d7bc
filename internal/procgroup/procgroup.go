// Package procgroup runs one command in a process group of its own and leaves
// nothing of it behind.
//
// The group is killed before its leader is reaped, also after a normal exit:
// until then the kernel cannot give the group's number to somebody else, and no
// background process outlives its command. On Linux, descendants that left the
// group are found by a marker in their environment and killed too; a descendant
// that both left the group and dropped or hid its environment is not covered,
// as is on macOS every descendant that left the group. On Windows the group is a
// job object; a process that the command started in the instant before it was
// put into the job is not covered.
package procgroup

import (
	"context"
	"fmt"
	"time"
)

const (
	// DefaultMaxOutput is the number of characters kept of each stream. Spec:
	// workflow engine, shell actions.
	DefaultMaxOutput = 1_000_000
	// DefaultTermGrace is the time between SIGTERM and SIGKILL.
	DefaultTermGrace = time.Second
	// TruncationMarker follows the kept part of a stream that was longer.
	TruncationMarker = "\n…[output truncated]"
)

// Spec says what to run and how. Only Command is required.
type Spec struct {
	// Command is a path or a name. A name is looked up in the PATH of Env; a
	// path with a slash that is not absolute is relative to Dir. With Shell it
	// is a command line.
	Command string
	// Args are the arguments without the command. With Shell they are added to
	// the command line as they are, behind spaces.
	Args []string
	// Dir is the working directory; default: that of this process.
	Dir string
	// Env is the whole environment as NAME=value, the last of equal names
	// counts; nil: that of this process. The marker variable is always added.
	Env []string
	// Stdin is what the command can read before its input ends. A command that
	// does not read it all is not an error.
	Stdin []byte
	// Shell, if set, is the path or name of the shell that runs the command.
	Shell string
	// MaxOutput is how many characters (code points) are kept of each stream;
	// 0 or less: DefaultMaxOutput. What follows is read and dropped, so that
	// the command does not block.
	MaxOutput int
	// TermGrace is how long the group may take to end after SIGTERM, before
	// SIGKILL; 0 or less: DefaultTermGrace. Windows has no SIGTERM: there the
	// group is killed at once.
	TermGrace time.Duration
	// Ledger, if set, is a folder in which the command is noted while it is under
	// way, for EndLeftovers. A command that cannot be noted is not started.
	Ledger string
	// OnStart, if set, is called once the process runs, with its identity. The
	// identity is zero if the process ended too soon to have one.
	OnStart func(Identity)
	// OnOutput, if set, sees all output as it comes, undecoded and not limited
	// by MaxOutput; stream is "stdout" or "stderr". Calls never overlap; the
	// chunk is valid during the call. A call that blocks makes the command
	// block, and Run waits for it; so it must return when the context ends.
	OnOutput func(stream string, chunk []byte)
}

// Result is what became of a command that was started.
type Result struct {
	// Stdout and Stderr are decoded as UTF-8: invalid bytes became U+FFFD, and a
	// byte order mark at the start was dropped.
	Stdout, Stderr string
	// StdoutTruncated and StderrTruncated say that the stream was longer than
	// MaxOutput; the kept part is followed by TruncationMarker.
	StdoutTruncated, StderrTruncated bool
	// ExitCode is nil if a signal ended the process.
	ExitCode *int
	// Signal is the name of the signal that ended the process, as "SIGKILL",
	// or empty.
	Signal string
	// StartedAt is the time just before the start, in local time.
	StartedAt time.Time
	// Duration is the time from the start until everything was reaped.
	Duration time.Duration
}

// StartError says that a command could not be started. Nothing ran.
type StartError struct {
	// Command is the command or the shell that was to be started.
	Command string
	// Err is the reason, often exec.ErrNotFound or an fs.PathError.
	Err error
}

// Error names the command and the reason.
func (e *StartError) Error() string {
	return fmt.Sprintf("start %q: %v; check the command, its permissions and its working directory", e.Command, e.Err)
}

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }

// Run runs a command to its end. When it returns, the command is reaped, its
// group and its marked descendants are dead, and both streams are closed.
//
// A command that fails or is killed by somebody else is no error: see Result.
// When ctx ends first, the group gets SIGTERM, and SIGKILL after the grace time;
// Run then returns what there is together with context.Cause(ctx). With a
// context that has already ended nothing is started. A command that cannot be
// started gives a [*StartError], one that cannot be noted a [*LedgerError].
func Run(ctx context.Context, spec Spec) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	c, err := start(spec)
	if err != nil {
		return Result{}, err
	}
	ended := c.await(ctx)
	if err := c.finish(); err != nil && ended == nil {
		ended = err
	}
	return c.result(), ended
}
