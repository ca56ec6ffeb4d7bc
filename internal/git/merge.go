package git

import (
	"context"
	"strings"
)

// Merge is what merging two commits gives.
type Merge struct {
	// Tree is the merged tree; empty if there are conflicts.
	Tree Hash
	// Conflicts are the paths that could not be merged, in order.
	Conflicts []string
}

// MergeTree merges two commits into a tree, without a worktree. They must have
// a common ancestor (see MergeBase); conflicts are no error.
func (r *Repo) MergeTree(ctx context.Context, ours, theirs Hash) (Merge, error) {
	args := []string{"merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", string(ours), string(theirs)}
	out, code, err := r.exit(ctx, call{args: args}, 0, 1)
	if err != nil {
		return Merge{}, err
	}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if code == 0 {
		return Merge{Tree: Hash(fields[0])}, nil
	}
	return Merge{Conflicts: fields[1:]}, nil
}

// MergeBase returns a best common ancestor of two commits; empty if their
// histories have nothing in common.
func (r *Repo) MergeBase(ctx context.Context, a, b Hash) (Hash, error) {
	out, _, err := r.exit(ctx, call{args: []string{"merge-base", string(a), string(b)}}, 0, 1)
	return Hash(strings.TrimSpace(out)), err
}

// IsAncestor reports whether a commit is another one or one of its ancestors.
// Both must exist.
func (r *Repo) IsAncestor(ctx context.Context, ancestor, of Hash) (bool, error) {
	args := []string{"merge-base", "--is-ancestor", string(ancestor), string(of)}
	_, code, err := r.exit(ctx, call{args: args}, 0, 1)
	return err == nil && code == 0, err
}

// HasCommit reports whether a commit is in the repository.
func (r *Repo) HasCommit(ctx context.Context, commit Hash) (bool, error) {
	out, err := r.run(ctx, call{args: []string{"cat-file", "--batch-check=%(objecttype)"}, stdin: string(commit) + "^{commit}\n"})
	return strings.TrimSpace(out) == "commit", err
}
