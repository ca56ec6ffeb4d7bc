package git

import (
	"fmt"
	"strings"
	"time"
)

// NotInstalledError says that there is no Git to call.
type NotInstalledError struct {
	Program string
	Err     error
}

func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("cannot run %s: %v: install Git %s or newer and put it on PATH", e.Program, e.Err, minimum)
}

// Unwrap returns the cause.
func (e *NotInstalledError) Unwrap() error { return e.Err }

// ErrorCode is the stable code of a missing Git.
func (*NotInstalledError) ErrorCode() string { return "git_not_installed" }

// VersionError says that Git is too old to merge without a worktree.
type VersionError struct {
	// Found is what `git version` answered.
	Found string
	// Need is the oldest version that does.
	Need string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is too old: install Git %s or newer, which can merge without a worktree", e.Found, e.Need)
}

// ErrorCode is the stable code of an old Git.
func (*VersionError) ErrorCode() string { return "git_too_old" }

// NotRepositoryError says that a path leads to no repository that may be used.
type NotRepositoryError struct {
	Path string
	// Detail is what is wrong, in Git's words where it was asked.
	Detail string
}

func (e *NotRepositoryError) Error() string {
	return fmt.Sprintf("no Git repository at %s: %s: give the absolute path of one", e.Path, strings.TrimSpace(e.Detail))
}

// ErrorCode is the stable code of a missing repository.
func (*NotRepositoryError) ErrorCode() string { return "repository_missing" }

// RefNameError says that a name breaks the rules of ref names.
type RefNameError struct{ Name, Rule string }

func (e *RefNameError) Error() string {
	return fmt.Sprintf("%.200q is no valid ref name: %s", e.Name, e.Rule)
}

// ErrorCode is the stable code of an invalid ref name.
func (*RefNameError) ErrorCode() string { return "invalid_ref_name" }

// RefNotFoundError says that a ref does not exist.
type RefNotFoundError struct{ Ref string }

func (e *RefNotFoundError) Error() string { return fmt.Sprintf("ref %s does not exist", e.Ref) }

// ErrorCode is the stable code of a missing ref.
func (*RefNotFoundError) ErrorCode() string { return "ref_not_found" }

// PreconditionError says that a ref is not where a transaction needs it.
// Nothing moved.
type PreconditionError struct {
	Ref string
	// Want is the value that was required and Found the one there is; empty is a
	// ref that does not exist.
	Want, Found Hash
}

func (e *PreconditionError) Error() string {
	return fmt.Sprintf("ref %s is at %s, not at %s: nothing was moved; read it again and decide anew",
		e.Ref, orMissing(e.Found), orMissing(e.Want))
}

// ErrorCode is the stable code of a ref that is elsewhere.
func (*PreconditionError) ErrorCode() string { return "ref_moved" }

func orMissing(h Hash) string {
	if h == "" {
		return "no commit"
	}
	return string(h)
}

// TimeoutError says that a call of Git passed its deadline and was killed.
type TimeoutError struct {
	Args  []string
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("git %s took longer than %s and was stopped: look for a lock or a slow disk", verb(e.Args), e.After)
}

// ErrorCode is the stable code of a call over its deadline.
func (*TimeoutError) ErrorCode() string { return "git_timeout" }

// CommandError says that Git refused or failed.
type CommandError struct {
	// Args are the arguments after our own options.
	Args []string
	// ExitCode is -1 if a signal ended Git.
	ExitCode int
	// Stderr is the end of what Git said.
	Stderr string
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("git %s ended with code %d: %s", verb(e.Args), e.ExitCode, strings.TrimSpace(e.Stderr))
}

// ErrorCode is the stable code of a failed call.
func (*CommandError) ErrorCode() string { return "git_failed" }

// verb names a call in a message: its arguments may be long and are no help.
func verb(args []string) string {
	return strings.Join(args[:min(len(args), 2)], " ")
}
