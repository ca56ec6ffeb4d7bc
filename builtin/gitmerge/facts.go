package gitmerge

import (
	"context"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/git"
)

// facts are what a pass reads from the repository.
type facts struct {
	// head and target are where the branches are; the zero Ref: nowhere.
	head, target git.Ref
	// merged says that the target holds the expected head.
	merged bool
	// checkedOut is the worktree in which the target is checked out; "" if none.
	checkedOut string
}

func (p *pass) look(ctx context.Context) (facts, error) {
	head, target := git.BranchRef(p.spec.Branch), git.BranchRef(p.spec.Target)
	refs, err := p.repo.Refs(ctx, head, target)
	if err != nil {
		return facts{}, err
	}
	f := facts{head: refs[head], target: refs[target]}
	if f.target.Hash == "" {
		return f, nil
	}
	if f.merged, err = holds(ctx, p.repo, f.target.Hash, git.Hash(p.spec.ExpectedHead)); f.merged || err != nil {
		return f, err
	}
	tree, found, err := p.repo.CheckedOut(ctx, target)
	if found {
		f.checkedOut = tree.Path
	}
	return f, err
}

// holds reports whether a commit is at another one or behind it. One that does
// not exist is not.
func holds(ctx context.Context, repo *git.Repo, tip, commit git.Hash) (bool, error) {
	exists, err := repo.HasCommit(ctx, commit)
	if err != nil || !exists {
		return false, err
	}
	return repo.IsAncestor(ctx, commit, tip)
}

// conclude returns the conditions of a resource for which nothing is to be done
// now, nil for one that goes on. The branch matters only while its commit is
// not merged.
func (p *pass) conclude(f facts) []controller.Condition {
	s, merge := p.spec, p.status.Merge
	undone := merge != nil && merge.Generation == p.res.Metadata.Generation
	switch {
	case f.target.Hash == "":
		return unverified(ReasonTargetMissing, fmt.Sprintf("there is no branch %s in %s", s.Target, s.Repository))
	case f.merged:
		return p.merged()
	case undone:
		return unverified(ReasonMergeUndone, fmt.Sprintf(
			"%s does not hold %s any more, although it was merged: somebody moved it back; change the spec to merge again",
			s.Target, merge.Candidate))
	case f.head.Hash == "":
		return unverified(ReasonBranchMissing, fmt.Sprintf("there is no branch %s in %s", s.Branch, s.Repository))
	case string(f.head.Hash) != s.ExpectedHead:
		return unverified(ReasonHeadChanged, fmt.Sprintf(
			"branch %s is at %s, not at %s: apply the new head if it is meant", s.Branch, f.head.Hash, s.ExpectedHead))
	case f.target.Symbolic != "":
		return unverified(ReasonTargetSymbolic, fmt.Sprintf(
			"%s is another name of %s: name that branch as the target", s.Target, f.target.Symbolic))
	case f.checkedOut != "":
		return unverified(ReasonTargetCheckedOut, fmt.Sprintf(
			"%s is checked out in %s: switch that worktree to another commit, then reconcile", s.Target, f.checkedOut))
	}
	return nil
}

// merged tells who merged it.
func (p *pass) merged() []controller.Condition {
	text := fmt.Sprintf("%s holds %s", p.spec.Target, p.spec.ExpectedHead)
	if m := p.status.Merge; m != nil {
		return []controller.Condition{
			controller.ConditionTrue(VerifiedCondition, ReasonCheckPassed, "the merge passed its check"),
			controller.ConditionTrue(controller.Ready, ReasonMerged, fmt.Sprintf("%s, merged as %s", text, m.Candidate)),
		}
	}
	return []controller.Condition{
		controller.ConditionUnknown(VerifiedCondition, ReasonAlreadyMerged, "there was nothing to verify"),
		controller.ConditionTrue(controller.Ready, ReasonAlreadyMerged, text),
	}
}

// unverified are the conditions of a merge that is not to be, for a reason that
// has nothing to do with its check.
func unverified(reason, message string) []controller.Condition {
	return []controller.Condition{
		controller.ConditionUnknown(VerifiedCondition, reason, message),
		controller.ConditionFalse(controller.Ready, reason, message),
	}
}

// verifying are the conditions of a merge whose check has not ended.
func verifying(message string) []controller.Condition {
	return unverified(ReasonVerifying, message)
}

// refused are the conditions of a merge that was verified and did not pass.
func refused(reason, message string) []controller.Condition {
	return []controller.Condition{
		controller.ConditionFalse(VerifiedCondition, reason, message),
		controller.ConditionFalse(controller.Ready, reason, message),
	}
}

// verified are the conditions of a merge that passed its check and waits.
func verified(candidate, reason, message string) []controller.Condition {
	return []controller.Condition{
		controller.ConditionTrue(VerifiedCondition, ReasonCheckPassed, "the check passed on "+candidate),
		controller.ConditionFalse(controller.Ready, reason, message),
	}
}
