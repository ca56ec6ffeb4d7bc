package gitmerge

import (
	"context"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/git"
)

// effectKind is the kind of the merge in effect records.
const effectKind = "git-merge"

// mergeRequest is what is asked of the repository.
type mergeRequest struct {
	// Target is the full ref name that moves from Old to Candidate, if the branch
	// is at Head.
	Target    string `json:"target"`
	Old       string `json:"old"`
	Candidate string `json:"candidate"`
	Head      string `json:"head"`
}

// propose writes the merge down. The next pass makes it.
func (p *pass) propose(out VerifyOutput) {
	generation := p.res.Metadata.Generation
	p.status.Proposal = &Proposal{
		// A refused proposal is final under its key, and the same commits always
		// make the same candidate.
		Key:        fmt.Sprintf("merge:%d:%s:%d", generation, out.Candidate, p.status.Rejections),
		Generation: generation,
		Branch:     git.BranchRef(p.spec.Branch),
		Target:     git.BranchRef(p.spec.Target),
		Head:       out.Head,
		Old:        out.Onto,
		Candidate:  out.Candidate,
	}
}

// resume brings an earlier proposal to its end, before anything else is done:
// it may be merged, whatever the refs and the spec say now.
func (p *pass) resume(ctx context.Context) (result, error) {
	proposal := *p.status.Proposal
	m := merger{workspace: p.workspace, repository: p.status.Repository, proposal: proposal, objection: p.objection(proposal)}
	record, err := p.Effects.Ensure(ctx, m.effect())
	if err != nil {
		return result{}, err
	}
	switch record.State {
	case controller.EffectApplied:
		p.status.Merge = &Merge{Candidate: proposal.Candidate, Generation: proposal.Generation}
		p.status.Proposal = nil
		return p.requeue(verified(proposal.Candidate, ReasonMerging, "the merge is made")), nil
	case controller.EffectRejected:
		p.status.Rejections++
		p.status.Proposal = nil
		return p.requeue(verifying("the merge was refused: " + record.Error)), nil
	default:
		return p.settle(verified(proposal.Candidate, ReasonMerging, "nobody knows yet whether the merge is made: "+record.Error)), nil
	}
}

// objection says why a proposal must not be made any more; "" if it may. Another
// generation decides anew: it may ask for another check, or approve nothing.
func (p *pass) objection(proposal Proposal) string {
	switch {
	case p.res.Metadata.Deleting():
		return "the resource is being deleted"
	case proposal.Generation != p.res.Metadata.Generation:
		return "the spec was changed"
	default:
		return ""
	}
}

// merger is the driver of one proposal.
type merger struct {
	workspace
	repository string
	proposal   Proposal
	objection  string
}

func (m merger) effect() controller.Effect {
	return controller.Effect{
		Key:        m.proposal.Key,
		Kind:       effectKind,
		Generation: m.proposal.Generation,
		Request: mergeRequest{
			Target: m.proposal.Target, Old: m.proposal.Old, Candidate: m.proposal.Candidate, Head: m.proposal.Head,
		},
		Observe: m.observe,
		Apply:   m.apply,
	}
}

// observe looks whether the target holds the candidate. In a repository that is
// gone nothing is merged.
func (m merger) observe(ctx context.Context) (controller.Observation, error) {
	repo, err := m.open(ctx, m.repository)
	if unusable(err) == ReasonRepositoryMissing {
		return controller.Observation{State: controller.ObservedNotApplied}, nil
	}
	if err != nil {
		return controller.Observation{}, err
	}
	merged, err := m.merged(ctx, repo)
	if err != nil {
		return controller.Observation{}, err
	}
	if !merged {
		return controller.Observation{State: controller.ObservedNotApplied}, nil
	}
	return controller.Observation{State: controller.ObservedApplied, ExternalRef: m.proposal.Candidate}, nil
}

func (m merger) merged(ctx context.Context, repo *git.Repo) (bool, error) {
	refs, err := repo.Refs(ctx, m.proposal.Target)
	if err != nil || refs[m.proposal.Target].Hash == "" {
		return false, err
	}
	return holds(ctx, repo, refs[m.proposal.Target].Hash, git.Hash(m.proposal.Candidate))
}

// apply moves the target in one transaction, which is refused unless branch and
// target are where they were when the candidate was checked.
func (m merger) apply(ctx context.Context, token string) (controller.Application, error) {
	if m.objection != "" {
		return rejected(m.objection), nil
	}
	repo, err := m.open(ctx, m.repository)
	if unusable(err) == ReasonRepositoryMissing {
		return rejected(err.Error()), nil
	}
	if err != nil {
		return controller.Application{}, err
	}
	tree, found, err := repo.CheckedOut(ctx, m.proposal.Target)
	if err != nil {
		return controller.Application{}, err
	}
	if found {
		return rejected("the target is checked out in " + tree.Path), nil
	}
	err = repo.UpdateRefs(ctx, "merge "+token,
		git.Verify(m.proposal.Branch, git.Hash(m.proposal.Head)),
		git.Move(m.proposal.Target, git.Hash(m.proposal.Old), git.Hash(m.proposal.Candidate)))
	if isA[*git.PreconditionError](err) {
		return m.moved(ctx, repo, err)
	}
	if err != nil {
		return controller.Application{}, err
	}
	return m.applied(), nil
}

// moved decides about a transaction that found a ref elsewhere: an earlier call
// of ours, thought to be dead, may have come first.
func (m merger) moved(ctx context.Context, repo *git.Repo, refusal error) (controller.Application, error) {
	merged, err := m.merged(ctx, repo)
	if err != nil {
		return controller.Application{}, err
	}
	if merged {
		return m.applied(), nil
	}
	return rejected(refusal.Error()), nil
}

func (m merger) applied() controller.Application {
	return controller.Application{State: controller.EffectApplied, ExternalRef: m.proposal.Candidate}
}

func rejected(reason string) controller.Application {
	return controller.Application{State: controller.EffectRejected, Reason: reason}
}
