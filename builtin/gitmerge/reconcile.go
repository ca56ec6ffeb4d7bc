package gitmerge

import (
	"context"
	"slices"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/git"
)

// cleanupRetry is the wait before a failed cleanup is tried again: what holds a
// file is mostly a process that is about to end.
const cleanupRetry = 30 * time.Second

// finalizer holds a deletion back while a worktree or a ref of ours may exist.
const finalizer = "git-merge.cleanup"

// passTimeout leaves room for the removal of a large worktree.
const passTimeout = 3 * time.Minute

// Controller returns the controller git-merge. It starts the workflow that
// VerifyBranch returns, so a program offers both.
func Controller(o Options) *controller.Definition {
	return controller.Define[Spec, Status](Name, reconciler{workspaceOf(o)}, controller.WithTimeout(passTimeout))
}

type (
	resource = controller.Resource[Spec, Status]
	result   = controller.Result[Status]
)

// reconciler is the controller git-merge.
type reconciler struct{ workspace }

// ValidateSpec implements controller.SpecValidator.
func (reconciler) ValidateSpec(s Spec) []controller.SpecProblem { return s.problems() }

// Reconcile runs one pass: it reads the refs, does at most one thing, and says
// what is to be written. A pass that has made something ready for the next step
// requeues; one that waits for a verification settles, because its end wakes the
// resource.
func (r reconciler) Reconcile(ctx context.Context, p *controller.Pass, res resource) (result, error) {
	pass := &pass{reconciler: r, Pass: p, res: res, spec: res.Spec, status: res.Status.ControllerStatus}
	switch {
	case pass.status.Proposal != nil:
		return pass.resume(ctx)
	case res.Metadata.Deleting():
		return pass.remove(ctx)
	case pass.movedHouse():
		return pass.moveOut(ctx)
	default:
		return pass.advance(ctx)
	}
}

// pass is one reconciliation.
type pass struct {
	reconciler
	*controller.Pass
	res  resource
	spec Spec
	// status is what will be written.
	status Status
	repo   *git.Repo
}

// advance brings the merge one step on.
func (p *pass) advance(ctx context.Context) (result, error) {
	repo, err := p.open(ctx, p.spec.Repository)
	if reason := unusable(err); reason != "" {
		return p.settle(unverified(reason, err.Error())), nil
	}
	if err != nil {
		return result{}, err
	}
	p.repo = repo
	f, err := p.look(ctx)
	if err != nil {
		return result{}, err
	}
	p.status.Head, p.status.Target = string(f.head.Hash), string(f.target.Hash)
	if conditions := p.conclude(f); conditions != nil {
		return p.rest(ctx, conditions)
	}
	if !p.owns() {
		return p.own(), nil
	}
	return p.verify(ctx, f)
}

// unusable returns the reason of a repository that cannot be opened until a
// person does something.
func unusable(err error) string {
	switch {
	case isA[*git.NotRepositoryError](err):
		return ReasonRepositoryMissing
	case isA[*git.VersionError](err), isA[*git.NotInstalledError](err):
		return ReasonGitUnusable
	default:
		return ""
	}
}

// alone ends every verification but the one that was asked for under a key; none
// under "". There is one at a time: its worktree and its ref carry the resource's
// name. It returns the run whose end the next step waits for; "" if there is none.
func (p *pass) alone(ctx context.Context, key, reason string) (runID string, err error) {
	ending, err := p.Workflows.CancelOthers(ctx, key, reason)
	if err != nil || len(ending) == 0 {
		return "", err
	}
	return ending[0].RunID, nil
}

// own puts down where a worktree and a ref of ours will be, before there is one.
func (p *pass) own() result {
	p.status.Repository = p.spec.Repository
	patch := p.patch(verifying("a verification is about to be asked for"))
	if !slices.Contains(p.res.Metadata.Finalizers, finalizer) {
		patch.Finalizers = append(slices.Clone(p.res.Metadata.Finalizers), finalizer)
	}
	return controller.Requeue(patch)
}

func (p *pass) owns() bool {
	return p.status.Repository != "" && slices.Contains(p.res.Metadata.Finalizers, finalizer)
}

// settle writes the status and waits for an event.
func (p *pass) settle(conditions []controller.Condition) result {
	return controller.Settled(p.patch(conditions))
}

// requeue writes the status and goes on with the next pass.
func (p *pass) requeue(conditions []controller.Condition) result {
	return controller.Requeue(p.patch(conditions))
}

func (p *pass) patch(conditions []controller.Condition) controller.Patch[Status] {
	return controller.Patch[Status]{ControllerStatus: &p.status, Conditions: conditions}
}
