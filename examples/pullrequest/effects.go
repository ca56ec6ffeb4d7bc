package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"piworkflows/controller"
	"piworkflows/examples/pullrequest/provider"
)

// The kinds of effects.
const (
	mergeKind  = "github-merge"
	repairKind = "github-commit"
)

// propose writes a change down. The next pass makes it.
func (p *pass) propose(kind string, files []provider.File) result {
	p.status.Proposal = &proposal{
		Kind: kind, Generation: p.res.Metadata.Generation, Repository: p.spec.Repository, Number: p.spec.Number,
		Head: p.pull.Head, Branch: p.pull.Branch, Files: files,
		// A refused proposal is final under its key.
		Key: fmt.Sprintf("%s:%d:%s:%d", kind, p.res.Metadata.Generation, p.pull.Head, p.status.Rejections),
	}
	return controller.Requeue(p.patch(notReady(p.status.Proposal.reason(), "it is about to be done")))
}

// reason is that of the condition Ready while the proposal is under way.
func (p proposal) reason() string {
	if p.Kind == repairKind {
		return reasonRepairing
	}
	return reasonMerging
}

// resume brings a proposal to its end before anything else is done: it may be made
// already, wherever the pull request and the spec are now.
func (p *pass) resume(ctx context.Context) (result, error) {
	intended := *p.status.Proposal
	c := change{session: p.session, proposal: intended, objection: p.objection(intended)}
	record, err := p.Effects.Ensure(ctx, controller.Effect{
		Key: intended.Key, Kind: intended.Kind, Generation: intended.Generation, Request: intended,
		Observe: c.observe, Apply: c.apply,
	})
	if err != nil {
		return result{}, err
	}
	switch record.State {
	case controller.EffectApplied:
		p.applied(intended, record.ExternalRef)
		return controller.Requeue(p.patch(notReady(intended.reason(), "it is done"))), nil
	case controller.EffectRejected:
		p.status.Proposal = nil
		p.status.Rejections++
		return controller.Requeue(p.patch(notReady(intended.reason(), "it was refused: "+record.Error))), nil
	default:
		return p.settle(intended.reason(), "nobody knows yet whether it is done: "+record.Error), nil
	}
}

func (p *pass) applied(done proposal, commit string) {
	p.status.Proposal = nil
	if done.Kind == mergeKind {
		p.status.Merged = commit
	} else {
		p.status.Repaired = commit
	}
}

// objection says why a proposal must not be made any more; "" if it may. Another
// generation decides anew: it may have taken the approval back.
func (p *pass) objection(intended proposal) string {
	switch {
	case p.res.Metadata.Deleting():
		return "the resource is being deleted"
	case intended.Generation != p.res.Metadata.Generation:
		return "the spec was changed"
	default:
		return ""
	}
}

// change is the driver of one proposal. It is all that changes anything at GitHub.
type change struct {
	session *provider.Session
	proposal
	objection string
}

// observe looks whether the change is there.
func (c change) observe(ctx context.Context) (controller.Observation, error) {
	commit, err := c.made(ctx)
	switch {
	case err != nil:
		return controller.Observation{}, err
	case commit == "":
		return controller.Observation{State: controller.ObservedNotApplied}, nil
	default:
		return controller.Observation{State: controller.ObservedApplied, ExternalRef: commit}, nil
	}
}

// made returns the commit of the change; "" if it is not there.
func (c change) made(ctx context.Context) (string, error) {
	pull, err := c.session.Pull(ctx, c.Repository, c.Number)
	if err != nil {
		return "", err
	}
	if c.Kind == mergeKind {
		if pull.Merged && pull.Head == c.Head {
			return pull.MergeCommit, nil
		}
		return "", nil
	}
	commit, err := c.session.Commit(ctx, c.Repository, pull.Head)
	if err != nil || commit.Parent != c.Head || !strings.Contains(commit.Message, c.trailer()) {
		return "", err
	}
	return pull.Head, nil
}

// trailer is how a commit of ours is known again.
func (c change) trailer() string { return "Repair: " + c.Key }

// apply makes the change under the condition that the pull request is at the commit
// that was decided about, which GitHub checks in the same moment.
func (c change) apply(ctx context.Context, _ string) (controller.Application, error) {
	if c.objection != "" {
		return rejected(c.objection), nil
	}
	commit, err := c.make(ctx)
	if refused, ok := errors.AsType[*provider.RefusedError](err); ok {
		return c.refused(ctx, refused)
	}
	if err != nil {
		return controller.Application{}, err
	}
	return controller.Application{State: controller.EffectApplied, ExternalRef: commit}, nil
}

func (c change) make(ctx context.Context) (string, error) {
	if c.Kind == mergeKind {
		return c.session.Merge(ctx, c.Repository, c.Number, c.Head, "")
	}
	return c.session.Push(ctx, c.Repository, c.Branch, c.Head, "Mend what the review found\n\n"+c.trailer(), c.Files)
}

// refused decides about a refusal: an earlier call of ours, thought to be dead, may
// have come first.
func (c change) refused(ctx context.Context, refusal error) (controller.Application, error) {
	commit, err := c.made(ctx)
	switch {
	case err != nil:
		return controller.Application{}, err
	case commit != "":
		return controller.Application{State: controller.EffectApplied, ExternalRef: commit}, nil
	default:
		return rejected(refusal.Error()), nil
	}
}

func rejected(reason string) controller.Application {
	return controller.Application{State: controller.EffectRejected, Reason: reason}
}
