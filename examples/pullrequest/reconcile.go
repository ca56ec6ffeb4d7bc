package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"piworkflows/controller"
	"piworkflows/examples/pullrequest/provider"
)

// The reasons of the condition Ready.
const (
	reasonMerged       = "Merged"
	reasonClosed       = "Closed"
	reasonMissing      = "PullRequestMissing"
	reasonDenied       = "TokenDenied"
	reasonWrongKey     = "WrongKey"
	reasonHeadChanged  = "HeadChanged"
	reasonTooLarge     = "TooLarge"
	reasonReviewing    = "Reviewing"
	reasonReviewFailed = "ReviewFailed"
	reasonDefect       = "DefectFound"
	reasonRepairing    = "Repairing"
	reasonChecking     = "ChecksPending"
	reasonCheckFailed  = "CheckFailed"
	reasonApproval     = "AwaitingApproval"
	reasonMerging      = "Merging"
)

// lookAgain is how long a pending check is waited for that no webhook tells of.
const lookAgain = 30 * time.Second

type (
	resource = controller.Resource[spec, status]
	result   = controller.Result[status]
)

// reconciler is the controller pull-request.
type reconciler struct{ github provider.GitHub }

// pass is one reconciliation: it reads everything anew, does at most one thing, and
// says how the pull request stands.
type pass struct {
	*controller.Pass
	session *provider.Session
	res     resource
	spec    spec
	// status is what will be written, pull what was read.
	status status
	pull   provider.Pull
}

// Reconcile implements controller.Reconciler.
func (r reconciler) Reconcile(ctx context.Context, cp *controller.Pass, res resource) (result, error) {
	p := &pass{Pass: cp, res: res, spec: res.Spec, status: res.Status.ControllerStatus}
	if res.Metadata.Key != p.spec.key() {
		return p.settle(reasonWrongKey, "no event would find this resource: its key must be "+p.spec.key()), nil
	}
	var err error
	if p.session, err = r.github.Session(ctx); err != nil {
		return result{}, err
	}
	done, err := p.advance(ctx)
	return p.explain(done, err)
}

// explain ends a pass that the provider stopped: what needs a person is a
// condition, what needs time is a delay, and all else is an error with its backoff.
func (p *pass) explain(done result, err error) (result, error) {
	if busy, ok := errors.AsType[*provider.BusyError](err); ok {
		return controller.RequeueAfter(busy.After, controller.Patch[status]{}), nil
	}
	if denied, ok := errors.AsType[*provider.DeniedError](err); ok {
		return p.settle(reasonDenied, denied.Error()+"; give the token the right, then reconcile"), nil
	}
	if missing, ok := errors.AsType[*provider.MissingError](err); ok {
		return p.settle(reasonMissing, missing.Error()), nil
	}
	return done, err
}

// advance brings the pull request one step on.
func (p *pass) advance(ctx context.Context) (done result, err error) {
	if p.status.Proposal != nil {
		return p.resume(ctx)
	}
	if p.pull, err = p.session.Pull(ctx, p.spec.Repository, p.spec.Number); err != nil {
		return done, err
	}
	p.status.Head = p.pull.Head
	switch {
	case p.res.Metadata.Deleting():
		return controller.Settled(controller.Patch[status]{}), nil
	case p.pull.Merged:
		return p.unasked(ctx, p.merged())
	case !p.pull.Open:
		return p.unasked(ctx, p.settle(reasonClosed, "it was closed without a merge"))
	case p.pull.Head != p.spec.ExpectedHead:
		return p.unasked(ctx, p.settle(reasonHeadChanged, p.moved()))
	default:
		return p.review(ctx)
	}
}

// moved says why there is another head, and what to do.
func (p *pass) moved() string {
	if p.pull.Head == p.status.Repaired {
		return fmt.Sprintf("%s mends it: look at it, and apply it as expectedHead if it is meant", short(p.pull.Head))
	}
	return fmt.Sprintf("it is at %s, not at %s: apply the new head if it is meant", short(p.pull.Head), short(p.spec.ExpectedHead))
}

// merged tells who merged it.
func (p *pass) merged() result {
	text := "somebody else merged it"
	if p.status.Merged != "" {
		text = fmt.Sprintf("merged as %s", short(p.status.Merged))
	}
	return controller.Settled(p.patch(controller.ConditionTrue(controller.Ready, reasonMerged, text)))
}

// check goes on with a commit that was reviewed well.
func (p *pass) check(ctx context.Context) (result, error) {
	checks, err := p.session.Checks(ctx, p.spec.Repository, p.spec.ExpectedHead)
	if err != nil {
		return result{}, err
	}
	for _, name := range p.spec.Checks {
		switch c := checks[name]; {
		case !c.Done:
			return controller.RequeueAfter(lookAgain, p.patch(notReady(reasonChecking, "the check "+name+" has not ended"))), nil
		case !c.Passed:
			return p.settle(reasonCheckFailed, "the check "+name+" did not pass"), nil
		}
	}
	if !p.spec.Approved {
		return p.settle(reasonApproval, fmt.Sprintf("%s is reviewed and its checks passed: approve it", short(p.pull.Head))), nil
	}
	return p.propose(mergeKind, nil), nil
}

func (p *pass) settle(reason, message string) result {
	return controller.Settled(p.patch(notReady(reason, message)))
}

func (p *pass) patch(c controller.Condition) controller.Patch[status] {
	return controller.Patch[status]{ControllerStatus: &p.status, Conditions: []controller.Condition{c}}
}

func notReady(reason, message string) controller.Condition {
	return controller.ConditionFalse(controller.Ready, reason, message)
}

// short is a commit for people.
func short(commit string) string { return commit[:min(len(commit), 10)] }

// definition returns the controller with its sources.
func definition(github provider.GitHub, sources ...controller.Source) *controller.Definition {
	return controller.Define[spec, status](name, reconciler{github}, controller.WithSources(sources...))
}
