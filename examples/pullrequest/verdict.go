package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"piworkflows/controller"
)

// end is how a pull request has to end.
type end struct {
	reason                   string
	merges, reviews, repairs int
}

// ends are those of all pull requests, in the order of their numbers. However many
// events there were, a commit is reviewed once.
var ends = []end{
	{reason: reasonMerged, merges: 1, reviews: 1},
	{reason: reasonHeadChanged, reviews: 1},
	{reason: reasonCheckFailed, reviews: 1},
	{reason: reasonMerged, merges: 1, reviews: 2, repairs: 1},
	{reason: reasonHeadChanged, reviews: 1},
}

// end shows where everything stands, and judges it.
func (s *stage) end(ctx context.Context) error {
	merged := map[int]int{}
	for _, call := range s.forge.Merges() {
		if call.Status == http.StatusOK {
			merged[call.Number]++
		}
	}
	fmt.Fprintf(s.out, "\n  %-13s %-16s  %6s  %7s  %7s\n", "", "", "MERGES", "REVIEWS", "REPAIRS")
	var problems []error
	for i, want := range ends {
		ref := spec{Repository: repository, Number: i + 1}.ref()
		got, err := s.ended(ctx, ref)
		if err != nil {
			return err
		}
		got.merges = merged[i+1]
		fmt.Fprintf(s.out, "  %-13s %-16s  %6d  %7d  %7d\n", ref.Key, got.reason, got.merges, got.reviews, got.repairs)
		if got != want {
			problems = append(problems, fmt.Errorf("%s ended as %+v, and should have as %+v", ref.Key, got, want))
		}
	}
	fmt.Fprintf(s.out, "\nGitHub was asked to merge %d times.\n", len(s.forge.Merges()))
	return errors.Join(problems...)
}

// ended reads how a pull request ended, as the store knows it.
func (s *stage) ended(ctx context.Context, ref controller.Ref) (end, error) {
	raw, err := s.store.Get(ctx, ref)
	if err != nil {
		return end{}, err
	}
	children, err := s.store.Children(ctx, ref)
	got := end{reason: controller.ReadinessOf(raw).Reason}
	for _, c := range children {
		if c.Workflow == reviewName {
			got.reviews++
		} else {
			got.repairs++
		}
	}
	return got, err
}
