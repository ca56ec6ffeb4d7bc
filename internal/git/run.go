package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"piworkflows/internal/limit"
	"piworkflows/internal/procgroup"
)

const (
	// maxOutput bounds what is read of one call, in characters: ten thousand refs
	// or worktrees, each with a long name, are within it.
	maxOutput = 4_000_000
	// maxStderr keeps error messages readable, in bytes.
	maxStderr = 4 << 10
)

// config lies over every configuration file.
var config = []string{
	// Nothing of the repository's or the user's own runs because we pass by.
	"core.hooksPath=/dev/null", "core.fsmonitor=false",
	"commit.gpgSign=false", "tag.gpgSign=false", "gc.auto=0", "maintenance.auto=false",
	// What we write is on the disk when the call returns.
	"core.fsync=all", "core.fsyncMethod=fsync",
	// A check sees the whole tree, even if the user's own worktree is sparse.
	"core.sparseCheckout=false", "submodule.recurse=false",
	// The caller named the path; a bare repository there is what was meant.
	"safe.bareRepository=all",
	// Several merges at once wait for each other's locks (milliseconds).
	"core.filesRefLockTimeout=2000", "core.packedRefsTimeout=5000",
}

// call is one call of Git.
type call struct {
	args  []string
	stdin string
	// env is laid over the common environment.
	env []string
	// dir is the repository's folder if empty.
	dir string
}

// argv returns the arguments with our options before them.
func (c call) argv(dir string) []string {
	argv := []string{"--no-pager"}
	if dir != "" {
		argv = append(argv, "-C", dir)
	}
	for _, setting := range config {
		argv = append(argv, "-c", setting)
	}
	return append(argv, c.args...)
}

// environ returns the environment of a call in dir: that of this process without
// what would turn Git elsewhere, change its language or make it ask.
func environ(dir string, extra []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(entry), "=")
		return strings.HasPrefix(name, "GIT_") || name == "LC_ALL" || name == "LANGUAGE"
	})
	return append(append(env,
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		// A replaced object is not what would be merged.
		"GIT_NO_REPLACE_OBJECTS=1",
		// A missing repository must not be found further up.
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir),
		"GIT_COMMITTER_NAME="+authorName, "GIT_COMMITTER_EMAIL="+authorEmail,
	), extra...)
}

// run calls Git and returns what it wrote to stdout, also after an error.
func (r *Repo) run(ctx context.Context, c call) (string, error) {
	out, _, err := r.exit(ctx, c, 0)
	return out, err
}

// line is run for an answer of one line.
func (r *Repo) line(ctx context.Context, args ...string) (string, error) {
	return r.lineOf(ctx, call{args: args})
}

func (r *Repo) lineOf(ctx context.Context, c call) (string, error) {
	out, err := r.run(ctx, c)
	return strings.TrimSuffix(out, "\n"), err
}

// exit calls Git and returns its exit code; a code that is not among those
// expected is a *CommandError.
func (r *Repo) exit(ctx context.Context, c call, expected ...int) (stdout string, code int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, &TimeoutError{Args: c.args, After: r.timeout})
	defer cancel()
	dir := cmp.Or(c.dir, r.dir)
	result, err := procgroup.Run(ctx, procgroup.Spec{
		Command: r.program, Args: c.argv(dir), Env: environ(dir, c.env),
		Stdin: []byte(c.stdin), MaxOutput: maxOutput,
	})
	notStarted, _ := errors.AsType[*procgroup.StartError](err)
	switch {
	case notStarted != nil:
		return "", -1, &NotInstalledError{Program: r.program, Err: notStarted.Err}
	case err != nil:
		return result.Stdout, -1, err
	case result.StdoutTruncated:
		return "", -1, &limit.Error{What: "answer of git " + verb(c.args), Limit: maxOutput, Size: maxOutput + 1, Unit: "characters"}
	}
	if code = -1; result.ExitCode != nil {
		code = *result.ExitCode
	}
	if !slices.Contains(expected, code) {
		return result.Stdout, code, &CommandError{Args: c.args, ExitCode: code, Stderr: end(result.Stderr)}
	}
	return result.Stdout, code, nil
}

// end keeps the end of what Git said, where the reason stands.
func end(stderr string) string {
	if len(stderr) <= maxStderr {
		return stderr
	}
	return "…" + strings.ToValidUTF8(stderr[len(stderr)-maxStderr:], "")
}

// malformed says that Git answered what it never should.
func malformed(verb, answer string) error {
	return fmt.Errorf("git %s answered %.200q, which is no answer we know: report it with the version of Git", verb, answer)
}
