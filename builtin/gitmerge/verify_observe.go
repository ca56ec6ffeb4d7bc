package gitmerge

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/internal/git"
	"piworkflows/workflow"
)

// verifier holds what the branches of verify-branch work with.
type verifier struct{ workspace }

// observation is what is so at one moment. Each fact is read from the
// repository, or from the record of the run.
type observation struct {
	// Head and Target are where the branches are; empty: there is no such branch.
	Head   string `json:"head"`
	Target string `json:"target"`
	// Merge is the result of the merge; nil before there is one.
	Merge *mergeResult `json:"merge,omitempty"`
	// Worktree is the state of the worktree of this run.
	Worktree treeState `json:"worktree"`
	// Check is the result of the check on the candidate; nil before.
	Check *checkResult `json:"check,omitempty"`
	// Trouble is the latest branch, if it did not end ok.
	Trouble *branchOutcome `json:"trouble,omitempty"`
	// Path is where the worktree is, if it is anywhere.
	Path string `json:"path,omitempty"`
}

// treeState is what is known of a worktree.
type treeState string

const (
	treeAbsent treeState = "absent"
	// treeReady: it holds the candidate and nothing else.
	treeReady treeState = "ready"
	// treeUnusable: something is there, and it is not that.
	treeUnusable treeState = "unusable"
)

// observe reads the facts and changes nothing.
func (v verifier) observe(ctx context.Context, c *workflow.Context) (any, error) {
	in, err := workflow.InputAs[VerifyInput](c)
	if err != nil {
		return nil, err
	}
	repo, err := v.open(ctx, in.Repository)
	if err != nil {
		return nil, err
	}
	head, target := git.BranchRef(in.Branch), git.BranchRef(in.Target)
	refs, err := repo.Refs(ctx, head, target)
	if err != nil {
		return nil, err
	}
	o := observation{Head: string(refs[head].Hash), Target: string(refs[target].Hash), Worktree: treeAbsent}
	if err := o.recall(c.View); err != nil {
		return nil, err
	}
	return o, o.look(ctx, repo, in.Owner, c.RunID)
}

// recall takes what the branches recorded. The output of a branch is there only
// while its latest attempt was ok.
func (o *observation) recall(v workflow.View) error {
	if err := recorded(v, nodeMerge, &o.Merge); err != nil {
		return err
	}
	if err := recorded(v, nodeCheck, &o.Check); err != nil {
		return err
	}
	if r, ok := v.Result(nodeCheck); ok && r.Outcome != workflow.OK {
		o.Check = &checkResult{Outcome: r.Outcome, Output: tail(r.Error, maxText)}
	}
	var last *branchOutcome
	if err := recorded(v, nodeReturn, &last); err != nil {
		return err
	}
	if last != nil && last.Outcome != workflow.OK {
		o.Trouble = last
	}
	return nil
}

// recorded decodes the output of a node into a pointer, which stays nil without.
func recorded[T any](v workflow.View, node string, into **T) error {
	raw, ok := v.Output(node)
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the output of node %s: %w", node, err)
	}
	return nil
}

// look finds the worktree of the run and adopts it if it is as prepare leaves
// it, whoever finished it. One that was used by a check is not clean any more,
// but by then nobody asks.
func (o *observation) look(ctx context.Context, repo *git.Repo, owner, run string) error {
	tree, found, err := find(ctx, repo, owner, run)
	if err != nil || !found {
		return err
	}
	o.Path, o.Worktree = tree.Path, treeUnusable
	if tree.Missing || o.Merge == nil || string(tree.Head) != o.Merge.Candidate {
		return nil
	}
	clean, err := repo.WorktreeClean(ctx, tree.Path)
	if err == nil && clean {
		o.Worktree = treeReady
	}
	return ctx.Err() // a worktree that Git cannot read is unusable
}
