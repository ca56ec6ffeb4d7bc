package gitmerge

import (
	"context"
	"slices"

	"piworkflows/controller"
)

// rest ends the work until something new arrives. What is ours is removed, once
// no verification works with it any more: one that runs is cancelled, and its end
// wakes the resource.
func (p *pass) rest(ctx context.Context, conditions []controller.Condition) (result, error) {
	running, err := p.alone(ctx, "", "there is nothing to verify now")
	if err != nil {
		return result{}, err
	}
	if running != "" || !p.mayOwn() {
		return p.settle(conditions), nil
	}
	if err := p.release(ctx); err != nil {
		if ctx.Err() != nil {
			return result{}, err
		}
		p.Log.WarnContext(ctx, "cleanup failed and will be tried again", "error", err)
		return controller.RequeueAfter(cleanupRetry, p.patch(conditions)), nil
	}
	patch := p.patch(conditions)
	patch.Finalizers = p.otherFinalizers()
	return controller.Settled(patch), nil
}

// remove lets a deletion go on once nothing of ours is left.
func (p *pass) remove(ctx context.Context) (result, error) {
	running, err := p.alone(ctx, "", "its resource is being deleted")
	if err != nil {
		return result{}, err
	}
	if running != "" {
		return p.settle([]controller.Condition{
			controller.ConditionFalse(controller.Ready, ReasonDeleting, "the deletion waits for run "+running),
		}), nil
	}
	if p.mayOwn() {
		if err := p.release(ctx); err != nil {
			return result{}, err
		}
	}
	patch := p.patch(nil)
	patch.Finalizers = p.otherFinalizers()
	return controller.Settled(patch), nil
}

// movedHouse reports whether something of ours may be in another repository than
// the one that the spec names now.
func (p *pass) movedHouse() bool {
	return p.status.Repository != "" && p.status.Repository != p.spec.Repository
}

// moveOut cleans the former repository before the new one is touched.
func (p *pass) moveOut(ctx context.Context) (result, error) {
	conditions := verifying("cleaning up in " + p.status.Repository)
	running, err := p.alone(ctx, "", "another repository is named now")
	if err != nil {
		return result{}, err
	}
	if running != "" {
		return p.settle(conditions), nil
	}
	if err := p.release(ctx); err != nil {
		return result{}, err
	}
	return p.requeue(conditions), nil
}

// mayOwn reports whether there may be something to clean up.
func (p *pass) mayOwn() bool {
	return p.status.Repository != "" || slices.Contains(p.res.Metadata.Finalizers, finalizer)
}

// release removes the worktrees and refs of this resource. In a repository that
// is gone there is nothing to remove.
func (p *pass) release(ctx context.Context) error {
	repository := p.status.Repository
	if repository == "" {
		repository = p.spec.Repository
	}
	err := p.workspace.release(ctx, repository, p.res.Metadata.UID)
	if err == nil {
		p.status.Repository, p.status.Candidate = "", ""
	}
	return err
}

// Release removes the worktrees and refs of a resource, which is the owner of
// them by its uid, in a repository. It is for whoever removes a store without
// deleting the resources in it; no verification of the resource may be running.
func Release(ctx context.Context, o Options, repository, uid string) error {
	return workspaceOf(o).release(ctx, repository, uid)
}

// release removes what an owner has. In a repository that is gone there is
// nothing but the folder.
func (w workspace) release(ctx context.Context, repository, owner string) error {
	repo, err := w.open(ctx, repository)
	switch {
	case unusable(err) == ReasonRepositoryMissing:
		repo, err = nil, nil
	case err != nil:
		return err
	}
	if err := w.sweep(ctx, repo, owner); err != nil {
		return err
	}
	if repo != nil {
		err = forget(ctx, repo, owner)
	}
	return err
}

// otherFinalizers are those that are not ours; never nil.
func (p *pass) otherFinalizers() []string {
	others := []string{}
	for _, f := range p.res.Metadata.Finalizers {
		if f != finalizer {
			others = append(others, f)
		}
	}
	return others
}
