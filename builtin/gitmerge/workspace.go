package gitmerge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"piworkflows/internal/git"
)

// refPrefix is where the refs of ours are, each under the name of its owner.
const refPrefix = "refs/pi-workflows/"

// ownerPattern is what an owner must be called, because it becomes the name of a
// folder and a part of a ref name; a uid fits. A run ID becomes the name of a
// folder.
var (
	ownerPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,127}$`)
	runPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)
)

// candidateRef keeps the candidate of an owner from being collected as garbage.
func candidateRef(owner string) string { return refPrefix + owner + "/candidate" }

// workspace is where worktrees are made, and how Git is called.
type workspace struct {
	root string
	git  git.Options
}

func (w workspace) open(ctx context.Context, repository string) (*git.Repo, error) {
	return git.Open(ctx, repository, w.git)
}

// folder returns the folder for the worktrees of one owner, which it makes.
func (w workspace) folder(repo *git.Repo, owner string) (string, error) {
	root, err := openWorkRoot(w.root)
	if err != nil {
		return "", err
	}
	if repo.Contains(root) {
		return "", &WorkRootError{Path: root, Rule: "it lies within the repository: choose a folder outside"}
	}
	folder := filepath.Join(root, owner)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for worktrees: %w", err)
	}
	return folder, nil
}

// add makes the worktree of one run. Nothing of the owner's may be there.
func (w workspace) add(ctx context.Context, repo *git.Repo, owner, run string, commit git.Hash) error {
	if !runPattern.MatchString(run) {
		return fmt.Errorf("run ID %.80q cannot name a worktree: use letters, digits, dots, _ and -", run)
	}
	folder, err := w.folder(repo, owner)
	if err != nil {
		return err
	}
	return repo.WorktreeAdd(ctx, filepath.Join(folder, run), commit)
}

// find returns the entry of the worktree of one run, wherever its root was.
func find(ctx context.Context, repo *git.Repo, owner, run string) (git.Worktree, bool, error) {
	list, err := owned(ctx, repo, owner)
	for _, tree := range list {
		if filepath.Base(tree.Path) == run {
			return tree, true, err
		}
	}
	return git.Worktree{}, false, err
}

// owned lists the worktrees of an owner. Owners are random, so the name of the
// folder is proof enough, also under a root that is configured no longer.
func owned(ctx context.Context, repo *git.Repo, owner string) ([]git.Worktree, error) {
	list, err := repo.Worktrees(ctx)
	var ours []git.Worktree
	for _, tree := range list {
		if filepath.Base(filepath.Dir(tree.Path)) == owner {
			ours = append(ours, tree)
		}
	}
	return ours, err
}

// sweep removes the worktrees of an owner, whole or in part, and the folders
// that were made for them. It can be repeated. A nil repo is one that is gone.
func (w workspace) sweep(ctx context.Context, repo *git.Repo, owner string) error {
	if !ownerPattern.MatchString(owner) {
		return fmt.Errorf("%.80q owns no worktrees", owner)
	}
	folder := filepath.Join(w.realRoot(), owner)
	if repo == nil {
		return git.RemoveFolder(folder)
	}
	// Folders first: an entry that was cut off can keep Git from listing any.
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list the worktrees of %s: %w", owner, err)
	}
	for _, entry := range entries {
		if err := repo.WorktreeRemove(ctx, filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	list, err := owned(ctx, repo, owner)
	if err != nil {
		return err
	}
	for _, tree := range list {
		if err := repo.WorktreeRemove(ctx, tree.Path); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(tree.Path)) // of another root; not ours if it is not empty
	}
	return git.RemoveFolder(folder)
}

// realRoot is the root without symbolic links, or as it is if it is missing.
func (w workspace) realRoot() string {
	root := w.root
	if root == "" {
		root = defaultWorkRoot()
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		return resolved
	}
	return root
}

// forget removes the refs of an owner.
func forget(ctx context.Context, repo *git.Repo, owner string) error {
	refs, err := repo.RefsUnder(ctx, refPrefix+owner)
	if err != nil || len(refs) == 0 {
		return err
	}
	var changes []git.RefChange
	for name := range refs {
		changes = append(changes, git.Delete(name))
	}
	return repo.UpdateRefs(ctx, "clean up", changes...)
}

// isA reports whether an error is or wraps one of a type.
func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}
