package gitmerge

import (
	"context"
	"fmt"
	"slices"
	"time"

	"piworkflows/internal/git"
	"piworkflows/workflow"
)

// branch is what each branch begins with.
func (v verifier) branch(ctx context.Context, c *workflow.Context) (VerifyInput, *git.Repo, error) {
	in, err := workflow.InputAs[VerifyInput](c)
	if err != nil {
		return in, nil, err
	}
	repo, err := v.open(ctx, in.Repository)
	return in, repo, err
}

// merge makes the candidate: the same commits always give the same one, so it
// does no harm to make it again.
func (v verifier) merge(ctx context.Context, c *workflow.Context) (any, error) {
	in, repo, err := v.branch(ctx, c)
	if err != nil {
		return nil, err
	}
	head, onto := git.Hash(in.Head), git.Hash(in.Onto)
	if base, err := repo.MergeBase(ctx, onto, head); err != nil || base == "" {
		return mergeResult{Unrelated: true}, err
	}
	merged, err := repo.MergeTree(ctx, onto, head)
	if err != nil {
		return nil, err
	}
	if merged.Tree == "" {
		return conflicted(merged), nil
	}
	candidate, err := commitMerge(ctx, repo, in, merged.Tree)
	if err != nil {
		return nil, err
	}
	err = repo.UpdateRefs(ctx, "candidate of "+c.RunID, git.Set(candidateRef(in.Owner), candidate))
	return mergeResult{Candidate: string(candidate), Tree: string(merged.Tree)}, err
}

// commitMerge writes the merge commit. Its time is that of the younger parent,
// so that the commit depends on nothing but the two.
func commitMerge(ctx context.Context, repo *git.Repo, in VerifyInput, tree git.Hash) (git.Hash, error) {
	parents := []git.Hash{git.Hash(in.Onto), git.Hash(in.Head)}
	times, err := repo.CommitterTimes(ctx, parents...)
	if err != nil {
		return "", err
	}
	return repo.CommitTree(ctx, git.Commit{
		Tree:    tree,
		Parents: parents,
		Message: fmt.Sprintf("Merge branch '%s' into %s\n", in.Branch, in.Target),
		Time:    slices.MaxFunc(times, time.Time.Compare),
	})
}

// prepare makes the worktree. Whatever the owner has already, from this run or
// an earlier one, was found unusable or is forgotten, and goes first.
func (v verifier) prepare(ctx context.Context, c *workflow.Context) (any, error) {
	in, repo, err := v.branch(ctx, c)
	if err != nil {
		return nil, err
	}
	o, err := workflow.OutputAs[observation](c, nodeObserve)
	if err != nil {
		return nil, err
	}
	if err := v.sweep(ctx, repo, in.Owner); err != nil {
		return nil, err
	}
	return nil, v.add(ctx, repo, in.Owner, c.RunID, git.Hash(o.Merge.Candidate))
}
