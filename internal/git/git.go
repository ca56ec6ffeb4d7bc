// Package git does the plumbing of local Git repositories: it reads and moves
// refs, merges without a worktree, makes commits that depend on their input
// only, and keeps detached worktrees.
//
// Every call is an argument vector with full ref names and a deadline. It sees
// no GIT_* variable of its parent, runs no hook, signs nothing, asks nothing,
// knows our identity only, and syncs each object and ref that it writes. No
// command changes what the user has checked out.
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// DefaultTimeout is the deadline of one call of Git. Calls are local; only the
// checkout of a very large tree comes near it. Who has less patience brings a
// context that ends earlier.
const DefaultTimeout = 10 * time.Minute

// Hash names an object in lower-case hex: 40 digits, 64 in a SHA-256 repository.
type Hash string

// Short returns the first digits, for people.
func (h Hash) Short() string { return string(h[:min(len(h), 10)]) }

// Options says how Git is called.
type Options struct {
	// Program is Git itself: a path, or a name that is looked up on PATH; "git"
	// if empty.
	Program string
	// Timeout bounds one call; DefaultTimeout if zero.
	Timeout time.Duration
}

// Repo is a local repository. It holds no resources and is safe for concurrent
// use; changes of its list of worktrees are serialised, between processes too.
type Repo struct {
	program string
	timeout time.Duration
	dir     string
	common  string
}

// Open finds the repository at a path: a bare one, the root of a worktree, or a
// .git folder. It does not look above the path. Errors are *NotInstalledError,
// *VersionError and *NotRepositoryError.
func Open(ctx context.Context, path string, o Options) (*Repo, error) {
	r := o.repo()
	if err := r.checkVersion(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.dir, err = existing(path); err != nil {
		return nil, &NotRepositoryError{Path: path, Detail: err.Error()}
	}
	r.common, err = r.line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if failed, ok := errors.AsType[*CommandError](err); ok {
		return nil, &NotRepositoryError{Path: path, Detail: failed.Stderr}
	}
	return r, err
}

// repo returns a repository that has no place yet.
func (o Options) repo() *Repo {
	return &Repo{program: cmp.Or(o.Program, "git"), timeout: cmp.Or(o.Timeout, DefaultTimeout)}
}

// existing returns the path of a folder without symbolic links in it, so that
// it compares equal to what Git says of it.
func existing(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("the path is not absolute")
	}
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("there is nothing at this path")
	}
	if err != nil {
		return "", fmt.Errorf("follow its symbolic links: %w", err)
	}
	info, err := os.Stat(resolved)
	if err == nil && !info.IsDir() {
		err = errors.New("the path is no folder")
	}
	return resolved, err
}

// Dir returns the folder that Open was given, without symbolic links in it.
func (r *Repo) Dir() string { return r.dir }

// CommonDir returns the folder with the objects and refs that all worktrees of
// the repository share.
func (r *Repo) CommonDir() string { return r.common }

// Contains reports whether a path, free of symbolic links, lies within the
// repository's folder or its common folder.
func (r *Repo) Contains(path string) bool {
	return inside(r.dir, path) || inside(r.common, path)
}

func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
