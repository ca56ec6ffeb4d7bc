package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/examples/pullrequest/provider"
)

// review asks for a review of the commit and goes on with what it found.
func (p *pass) review(ctx context.Context) (result, error) {
	diff, err := p.session.Diff(ctx, p.spec.Repository, p.spec.Number)
	if err != nil {
		return result{}, err
	}
	if len(diff) > provider.MaxDiff {
		return p.settle(reasonTooLarge, "the diff is too large for a review"), nil
	}
	asked := subject{Repository: p.spec.Repository, Number: p.spec.Number, Head: p.pull.Head, Diff: diff}
	child, err := p.child(ctx, reviewName, asked)
	if err != nil {
		return result{}, err
	}
	if child.State != controller.RunSucceeded {
		return p.unfinished(reasonReviewing, child), nil
	}
	var found verdict
	if err := answerOf(child, &found); err != nil {
		return result{}, err
	}
	if found.Head != p.spec.ExpectedHead {
		return result{}, fmt.Errorf("run %s reviewed %s, which was not asked for", child.RunID, found.Head)
	}
	if len(found.Findings) > 0 {
		return p.repair(ctx, asked, found)
	}
	return p.check(ctx)
}

// repair asks for a repair, if one is allowed. What comes back is a text of a model:
// only code decides what of it goes where.
func (p *pass) repair(ctx context.Context, asked subject, found verdict) (result, error) {
	first := fmt.Sprintf("%d findings, such as: %s: %s", len(found.Findings), found.Findings[0].Path, found.Findings[0].Text)
	if !p.spec.Repair {
		return p.settle(reasonDefect, first), nil
	}
	asked.Findings = found.Findings
	child, err := p.child(ctx, repairName, asked)
	if err != nil {
		return result{}, err
	}
	if child.State != controller.RunSucceeded {
		return p.unfinished(reasonRepairing, child), nil
	}
	var mended mend
	if err := answerOf(child, &mended); err != nil {
		return result{}, err
	}
	if err := mended.check(asked); err != nil {
		return p.settle(reasonDefect, fmt.Sprintf("%s; the repair of run %s is not taken: %v", first, child.RunID, err)), nil
	}
	return p.propose(repairKind, mended.Files), nil
}

// child asks for a child run. The key names all that the run depends on: whatever
// wakes the resource, and however often, there is one run for one question.
func (p *pass) child(ctx context.Context, workflow string, asked subject) (controller.ChildRun, error) {
	raw, err := json.Marshal(asked)
	if err != nil {
		return controller.ChildRun{}, fmt.Errorf("write the input of %s: %w", workflow, err)
	}
	digest := sha256.Sum256(raw)
	request := func() controller.WorkflowRequest {
		return controller.WorkflowRequest{
			RequestKey: fmt.Sprintf("%s:%s:%s:%d", workflow, short(asked.Head), hex.EncodeToString(digest[:8]), p.status.Round),
			Workflow:   workflow, Input: asked,
		}
	}
	child, err := p.Workflows.Ensure(ctx, request())
	if err == nil && child.State.Final() && child.Code == controller.CodeCancelled { // and now it is wanted again
		p.status.Round++
		child, err = p.Workflows.Ensure(ctx, request())
	}
	if err != nil || child.State.Final() {
		return child, err
	}
	_, err = p.Workflows.CancelOthers(ctx, child.RequestKey, notAsked)
	return child, err
}

// notAsked is why a run is cancelled: an agent that goes on costs money.
const notAsked = "the pull request is not as it was when it began"

// unasked ends a pass after which nobody needs the answer of any run.
func (p *pass) unasked(ctx context.Context, done result) (result, error) {
	_, err := p.Workflows.CancelOthers(ctx, "", notAsked)
	return done, err
}

// unfinished ends a pass whose child run has not succeeded: the end of the run wakes
// the resource. A run that failed is not repeated by itself.
func (p *pass) unfinished(reason string, child controller.ChildRun) result {
	if child.State == controller.RunFailed {
		p.status.Round++
		return p.settle(reasonReviewFailed, fmt.Sprintf("run %s failed: %s; reconcile to try again", child.RunID, child.Error))
	}
	return p.settle(reason, "run "+child.RunID)
}

func answerOf(child controller.ChildRun, into any) error {
	if err := json.Unmarshal(child.Output, into); err != nil {
		return fmt.Errorf("read the result of run %s: %w", child.RunID, err)
	}
	return nil
}
