package gitmerge

import (
	"context"
	"errors"
	"fmt"

	"piworkflows/workflow"
)

// The results of verify-branch.
const (
	ResultVerified = "verified"
	ResultBlocked  = "blocked"
)

// VerifyOutput is the output of verify-branch.
type VerifyOutput struct {
	// Result is ResultVerified or ResultBlocked.
	Result string `json:"result"`
	// Reason is one word, see the Reason constants; Message tells it to people.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Head and Onto are the commits that were merged.
	Head string `json:"head"`
	Onto string `json:"onto"`
	// Candidate is the merge commit and Tree its tree; empty if there is none.
	Candidate string `json:"candidate,omitempty"`
	Tree      string `json:"tree,omitempty"`
	// Output is the end of what the check wrote.
	Output string `json:"output,omitempty"`
	// Evidence and Alternatives tell what a blocked result rests on and what
	// else was considered.
	Evidence     []string `json:"evidence,omitempty"`
	Alternatives []string `json:"alternatives,omitempty"`
	// Leftover says why a worktree or a ref could not be removed; it is removed
	// later.
	Leftover string `json:"leftover,omitempty"`
}

// complete ends a run that proved its candidate. It asks the observation once
// more: a route grants nothing.
func (v verifier) complete(ctx context.Context, c *workflow.Context) (any, error) {
	out, o, err := ending(c)
	if err != nil {
		return nil, err
	}
	if o.Head != out.Head || o.Target != out.Onto || !o.Check.passed(out.Candidate) {
		return nil, fmt.Errorf("candidate %.80q is not proven, and complete was chosen: this is a defect of %s", out.Candidate, WorkflowName)
	}
	out.Result, out.Reason = ResultVerified, ReasonCheckPassed
	return v.clean(ctx, c, out, false)
}

// blocked ends a run that proved nothing that could be merged.
func (v verifier) blocked(ctx context.Context, c *workflow.Context) (any, error) {
	out, _, err := ending(c)
	if err != nil {
		return nil, err
	}
	out.Result = ResultBlocked
	return v.clean(ctx, c, out, true)
}

// ending tells what the last observation and decision say.
func ending(c *workflow.Context) (VerifyOutput, observation, error) {
	in, err1 := workflow.InputAs[VerifyInput](c)
	o, err2 := workflow.OutputAs[observation](c, nodeObserve)
	d, err3 := workflow.OutputAs[decision](c, nodeDecide)
	if err := errors.Join(err1, err2, err3); err != nil {
		return VerifyOutput{}, o, err
	}
	out := VerifyOutput{
		Reason: d.Blocker, Message: d.Reason, Head: in.Head, Onto: in.Onto,
		Evidence: d.Evidence, Alternatives: d.Alternatives,
	}
	if o.Merge != nil {
		out.Candidate, out.Tree = o.Merge.Candidate, o.Merge.Tree
	}
	if o.Check != nil {
		out.Output = o.Check.Output
	}
	return out, o, nil
}

// clean removes the worktree, and the candidate if it is of no use. A result is
// not lost because of what is left: its owner removes it later.
func (v verifier) clean(ctx context.Context, c *workflow.Context, out VerifyOutput, all bool) (VerifyOutput, error) {
	err := v.remove(ctx, c, all)
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	if err != nil {
		out.Leftover = tail(err.Error(), maxText)
	}
	return out, nil
}

// abandon removes what a run leaves that reached neither of its ends, because it
// was cancelled or failed.
func (v verifier) abandon(ctx context.Context, c *workflow.Context) error {
	for _, end := range []string{nodeComplete, nodeBlocked} {
		if _, reached := c.View.Output(end); reached {
			return nil
		}
	}
	return v.remove(ctx, c, true)
}

// remove removes the worktree, and the candidate too if all is to go.
func (v verifier) remove(ctx context.Context, c *workflow.Context, all bool) error {
	in, repo, err := v.branch(ctx, c)
	if err == nil {
		err = v.sweep(ctx, repo, in.Owner)
	}
	if err == nil && all {
		err = forget(ctx, repo, in.Owner)
	}
	return err
}
