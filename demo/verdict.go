package demo

import (
	"context"
	"fmt"
	"strings"

	"piworkflows/controller"
)

// verdict is how the story of one branch ended.
type verdict struct {
	branch
	got controller.Readiness
	// merged says whether the target holds the branch's commit.
	merged bool
}

// problem tells what is not as it should be; empty if all is.
func (v verdict) problem() string {
	wantMerged := v.ready == controller.True
	switch {
	case v.got.Status != v.ready || v.got.Reason != v.reason:
		return fmt.Sprintf("is %s with reason %s, not %s with reason %s", v.got.Status, v.got.Reason, v.ready, v.reason)
	case !strings.Contains(v.got.Message, v.says):
		return fmt.Sprintf("does not say %q in its condition", v.says)
	case v.merged != wantMerged && wantMerged:
		return "says that it is merged, but the target does not hold it"
	case v.merged != wantMerged:
		return "was merged, and must not be"
	}
	return ""
}

// verdicts reads the end of every branch from the store and the repository.
func (d *run) verdicts(ctx context.Context) ([]verdict, error) {
	all := make([]verdict, 0, len(branches))
	for _, b := range branches {
		r, err := d.store.Get(ctx, b.ref())
		if err != nil {
			return nil, err
		}
		merged, err := d.place.contains(ctx, d.heads[b.key])
		if err != nil {
			return nil, err
		}
		all = append(all, verdict{branch: b, got: controller.ReadinessOf(r), merged: merged})
	}
	return all, nil
}

// UnfinishedError says that branches did not end as the story goes.
type UnfinishedError struct {
	// Problems are sentences without their end, each about one branch.
	Problems []string
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("the demo did not end as it should: %s: look at them with `controller`, then run the demo again on the same folder",
		strings.Join(e.Problems, "; "))
}

// ErrorCode is the stable code of the error.
func (*UnfinishedError) ErrorCode() string { return "demo_unfinished" }

func judge(all []verdict) error {
	var problems []string
	for _, v := range all {
		if p := v.problem(); p != "" {
			problems = append(problems, fmt.Sprintf("branch %s %s", v.key, p))
		}
	}
	if problems == nil {
		return nil
	}
	return &UnfinishedError{Problems: problems}
}
