package gitmerge

import (
	"context"
	"encoding/json"
	"fmt"

	"piworkflows/controller"
	"piworkflows/internal/canonical"
)

// VerifyInput is the input of verify-branch.
type VerifyInput struct {
	// Owner names whom the worktree and the candidate belong to: letters, digits
	// and hyphens. It is the uid of a resource; one owner has one run at a time.
	Owner string `json:"owner"`
	// Repository, Branch, Target, Check and CheckTimeout are as in Spec.
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	Target     string `json:"target"`
	// Head is the commit of Branch that is merged, Onto the commit of Target
	// that it is merged into. Both must still be there at the end.
	Head         string   `json:"head"`
	Onto         string   `json:"onto"`
	Check        []string `json:"check"`
	CheckTimeout Duration `json:"checkTimeout,omitzero"`
}

// normalizeInput refuses an input that cannot be worked on, with every problem
// at once as a *controller.SpecError.
func normalizeInput(_ context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var in VerifyInput
	if err := canonical.DecodeStrict(raw, &in); err != nil {
		return nil, err
	}
	var p problems
	if !ownerPattern.MatchString(in.Owner) {
		p.addf("/owner", "%.80q is not 1 to 128 letters, digits and hyphens", in.Owner)
	}
	p.repository(in.Repository)
	p.merge(in.Branch, in.Target)
	p.commit("/head", in.Head)
	p.commit("/onto", in.Onto)
	p.check(in.Check, in.CheckTimeout)
	if len(p.list) > 0 {
		return nil, &controller.SpecError{Problems: p.list}
	}
	in.CheckTimeout = in.CheckTimeout.orDefault()
	return canonical.Marshal(in)
}

func title(_ context.Context, raw json.RawMessage) (string, error) {
	var in VerifyInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return "", fmt.Errorf("read the input: %w", err)
	}
	return fmt.Sprintf("Verify %s for %s", in.Branch, in.Target), nil
}
