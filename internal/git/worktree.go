package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Worktree is one place in which the repository is checked out.
type Worktree struct {
	// Path is absolute; Head is the commit there, empty in a bare repository.
	Path string
	Head Hash
	// Branch is the full name of the branch checked out; empty if detached.
	Branch string
	// Bare marks the entry of a bare repository itself.
	Bare bool
	// Missing says that the folder is gone and only the entry is left.
	Missing bool
}

// Worktrees lists the worktrees, the main one first.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	unlock, err := r.lockWorktrees(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	out, err := r.run(ctx, call{args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return nil, err
	}
	return parseWorktrees(out), nil
}

// parseWorktrees reads entries of NUL-ended lines, each entry ended by an empty
// one.
func parseWorktrees(out string) []Worktree {
	var list []Worktree
	for line := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(line, " ")
		if key == "worktree" {
			list = append(list, Worktree{Path: filepath.FromSlash(value)})
		} else if len(list) > 0 {
			list[len(list)-1].set(key, value)
		}
	}
	return list
}

func (w *Worktree) set(key, value string) {
	switch key {
	case "HEAD":
		w.Head = Hash(value)
	case "branch":
		w.Branch = value
	case "bare":
		w.Bare = true
	case "prunable":
		w.Missing = true
	}
}

// CheckedOut returns the worktree in which a branch, given by its full ref
// name, is checked out; false if it is in none. An entry whose folder is missing
// counts: the folder may be on a disk that comes back.
func (r *Repo) CheckedOut(ctx context.Context, ref string) (Worktree, bool, error) {
	list, err := r.Worktrees(ctx)
	if err != nil {
		return Worktree{}, false, err
	}
	for _, w := range list {
		if w.Branch == ref {
			return w, true, nil
		}
	}
	return Worktree{}, false, nil
}

// WorktreeAdd checks a commit out, detached and whole, in a new worktree at an
// absolute path: a folder that is missing, then its parent must be there, or
// empty. After an error a part may be there: remove it.
func (r *Repo) WorktreeAdd(ctx context.Context, path string, commit Hash) error {
	// With its folder first, every entry can be found by a folder, however the
	// making of it ends.
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder of a worktree: %w", err)
	}
	// The list of worktrees is locked for the entry only, not for the checkout.
	if err := r.changeWorktrees(ctx, "add", "--detach", "--no-checkout", path, string(commit)); err != nil {
		return err
	}
	_, err := r.run(ctx, call{dir: path, args: []string{"reset", "--hard", "--quiet", string(commit)}})
	return err
}

// WorktreeClean reports whether a worktree holds its commit and nothing else,
// ignored files included.
func (r *Repo) WorktreeClean(ctx context.Context, path string) (bool, error) {
	out, err := r.run(ctx, call{dir: path, args: []string{
		"status", "--porcelain", "-z", "--untracked-files=all", "--ignored=traditional", "--ignore-submodules=none",
	}})
	return err == nil && out == "", err
}

// WorktreeRemove removes the folder of a worktree with all that is in it, and
// its entry. What is missing already is no error, so it can be repeated, also
// after an addition or removal that was cut off.
func (r *Repo) WorktreeRemove(ctx context.Context, path string) error {
	if err := r.dropHalfEntry(ctx, path); err != nil {
		return err
	}
	if err := RemoveFolder(path); err != nil {
		return err
	}
	list, err := r.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		// Git removes the entry of a missing folder; twice forced, of a locked one.
		if samePath(w.Path, path) {
			if err := r.changeWorktrees(ctx, "remove", "--force", "--force", w.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropHalfEntry removes an entry that Git did not write to its end: it is not
// listed, or keeps Git from listing the others. Git names the entry like the
// folder (gitrepository-layout, worktrees).
func (r *Repo) dropHalfEntry(ctx context.Context, path string) error {
	unlock, err := r.lockWorktrees(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	entry := filepath.Join(r.common, "worktrees", filepath.Base(path))
	for _, name := range []string{"gitdir", "HEAD", "commondir"} {
		info, err := os.Stat(filepath.Join(entry, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
			return RemoveFolder(entry)
		}
	}
	return nil
}

func (r *Repo) changeWorktrees(ctx context.Context, args ...string) error {
	unlock, err := r.lockWorktrees(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = r.run(ctx, call{args: append([]string{"worktree"}, args...)})
	return err
}

// samePath compares paths of which one may lead through symbolic links, even if
// the last part is missing.
func samePath(a, b string) bool { return a == b || canonicalPath(a) == canonicalPath(b) }

func canonicalPath(path string) string {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(parent, filepath.Base(path))
}
