package gitmerge

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
	"piworkflows/internal/git"
)

// verify asks for the verification of the two commits and goes on with what it
// proved. One of anything else ends first.
func (p *pass) verify(ctx context.Context, f facts) (result, error) {
	request, err := p.request(f)
	if err != nil {
		return result{}, err
	}
	other, err := p.alone(ctx, request.RequestKey, "another merge or check is to be verified now")
	if err != nil {
		return result{}, err
	}
	if other != "" {
		return p.settle(verifying("run " + other + " verifies what is not asked for any more, and is being cancelled")), nil
	}
	child, err := p.Workflows.Ensure(ctx, request)
	if err != nil {
		return result{}, err
	}
	switch child.State {
	case controller.RunSucceeded:
		return p.judge(ctx, f, child)
	case controller.RunFailed:
		if child.Code == controller.CodeCancelled {
			p.status.Round++ // it was not asked for any more, and now it is
			return p.requeue(verifying("run " + child.RunID + " was cancelled; the merge is verified anew")), nil
		}
		return p.again(ctx, "run "+child.RunID+" failed: "+tail(child.Error, maxText))
	default:
		return p.settle(verifying("run " + child.RunID + " verifies the merge")), nil
	}
}

// request names the verification by all that it depends on. So a changed target
// or check makes another one, and an approval finds the one there is.
func (p *pass) request(f facts) (controller.WorkflowRequest, error) {
	s := p.spec
	in := VerifyInput{
		Owner: p.res.Metadata.UID, Repository: s.Repository, Branch: s.Branch, Target: s.Target,
		Head: s.ExpectedHead, Onto: string(f.target.Hash),
		Check: s.Check, CheckTimeout: s.CheckTimeout.orDefault(),
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return controller.WorkflowRequest{}, fmt.Errorf("write the input of %s: %w", WorkflowName, err)
	}
	digest, err := canonical.Fingerprint(raw)
	if err != nil {
		return controller.WorkflowRequest{}, err
	}
	key := fmt.Sprintf("verify:%s:%s:%s:%d", git.Hash(in.Head).Short(), f.target.Hash.Short(), digest[:16], p.status.Round)
	return controller.WorkflowRequest{RequestKey: key, Workflow: WorkflowName, Input: in}, nil
}

// again ends a verification that proved nothing. The next event makes another
// one; nothing is repeated by itself, because the trouble is not the merge's.
func (p *pass) again(ctx context.Context, message string) (result, error) {
	p.status.Round++
	return p.rest(ctx, unverified(ReasonVerificationFailed, message+"\nreconcile the resource to verify again"))
}

// judge reads the result of a verification.
func (p *pass) judge(ctx context.Context, f facts, child controller.ChildRun) (result, error) {
	var out VerifyOutput
	if err := json.Unmarshal(child.Output, &out); err != nil {
		return result{}, fmt.Errorf("read the result of run %s: %w", child.RunID, err)
	}
	if out.Result != ResultVerified {
		return p.refuse(ctx, out, child.RunID)
	}
	if out.Head != p.spec.ExpectedHead || out.Onto != string(f.target.Hash) || out.Candidate == "" {
		return result{}, fmt.Errorf("run %s verified %s on %s, which was not asked for", child.RunID, out.Head, out.Onto)
	}
	return p.proven(ctx, out)
}

// refuse ends a merge that may not be made. A verdict about the commits stands;
// one about something that has passed by now does not.
func (p *pass) refuse(ctx context.Context, out VerifyOutput, run string) (result, error) {
	switch out.Reason {
	case ReasonConflict, ReasonUnrelated, ReasonCheckFailed, ReasonCheckTimedOut:
		return p.rest(ctx, refused(out.Reason, paragraphs(out.Message, out.Output)))
	case ReasonTargetChanged:
		p.status.Round++ // it is back where it was
		return p.requeue(verifying(out.Message)), nil
	case ReasonHeadChanged:
		p.status.Round++
		return p.rest(ctx, unverified(out.Reason, out.Message+"; it is back now: reconcile the resource to verify again"))
	default:
		return p.again(ctx, paragraphs(append([]string{"run " + run + " is blocked: " + out.Message}, out.Evidence...)...))
	}
}

// proven goes on with a candidate that passed its check, if it is still kept:
// without its ref it may be collected as garbage at any moment.
func (p *pass) proven(ctx context.Context, out VerifyOutput) (result, error) {
	ref := candidateRef(p.res.Metadata.UID)
	refs, err := p.repo.Refs(ctx, ref)
	if err != nil {
		return result{}, err
	}
	if string(refs[ref].Hash) != out.Candidate {
		p.status.Round++
		return p.requeue(verifying("candidate " + out.Candidate + " was lost; it is made again")), nil
	}
	if out.Leftover != "" {
		if err := p.sweep(ctx, p.repo, p.res.Metadata.UID); err != nil {
			p.Log.WarnContext(ctx, "a worktree is left and will be removed with the rest", "error", err)
		}
	}
	p.status.Candidate = out.Candidate
	if !p.spec.Approved {
		return p.settle(verified(out.Candidate, ReasonAwaitingApproval,
			"the merge is verified; approve it by setting approved to true")), nil
	}
	p.propose(out)
	return p.requeue(verified(out.Candidate, ReasonMerging, "the merge is proposed")), nil
}
