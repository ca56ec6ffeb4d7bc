package provider

import (
	"context"
	"time"

	"github.com/google/go-github/v84/github"
)

// Pull is a pull request as it is now.
type Pull struct {
	Number       int
	Title        string
	Head, Branch string
	Open, Draft  bool
	Merged       bool
	MergeCommit  string
	UpdatedAt    time.Time
}

// Check is the newest run of a check at a commit.
type Check struct {
	Name string
	// Done says that it has ended, and Passed how.
	Done, Passed bool
}

// Commit is a commit as far as it matters.
type Commit struct {
	Message, Parent string
}

// Pull reads a pull request; a *MissingError if there is none.
func (s *Session) Pull(ctx context.Context, repository string, number int) (Pull, error) {
	user, name := owner(repository)
	p, _, err := s.client.PullRequests.Get(ctx, user, name, number)
	if err != nil {
		return Pull{}, told("read the pull request", err)
	}
	return pullOf(p), nil
}

func pullOf(p *github.PullRequest) Pull {
	return Pull{
		Number: p.GetNumber(), Title: p.GetTitle(), Head: p.GetHead().GetSHA(), Branch: p.GetHead().GetRef(),
		Open: p.GetState() == "open", Draft: p.GetDraft(), Merged: p.GetMerged(), MergeCommit: p.GetMergeCommitSHA(),
		UpdatedAt: p.GetUpdatedAt().Time,
	}
}

// Diff reads what a pull request changes.
func (s *Session) Diff(ctx context.Context, repository string, number int) (string, error) {
	user, name := owner(repository)
	diff, _, err := s.client.PullRequests.GetRaw(ctx, user, name, number, github.RawOptions{Type: github.Diff})
	if err != nil {
		return "", told("read the diff", err)
	}
	return diff, nil
}

// Checks reads the checks of a commit.
func (s *Session) Checks(ctx context.Context, repository, commit string) (map[string]Check, error) {
	user, name := owner(repository)
	found := map[string]Check{}
	filter := "latest"
	o := &github.ListCheckRunsOptions{Filter: &filter, ListOptions: github.ListOptions{PerPage: pageSize}}
	for range maxPages {
		list, response, err := s.client.Checks.ListCheckRunsForRef(ctx, user, name, commit, o)
		if err != nil {
			return nil, told("read the checks", err)
		}
		for _, run := range list.CheckRuns {
			found[run.GetName()] = Check{
				Name: run.GetName(), Done: run.GetStatus() == "completed", Passed: run.GetConclusion() == "success",
			}
		}
		if o.Page = response.NextPage; o.Page == 0 {
			break
		}
	}
	return found, nil
}

// Commit reads a commit.
func (s *Session) Commit(ctx context.Context, repository, commit string) (Commit, error) {
	user, name := owner(repository)
	c, _, err := s.client.Git.GetCommit(ctx, user, name, commit)
	if err != nil {
		return Commit{}, told("read the commit", err)
	}
	found := Commit{Message: c.GetMessage()}
	if len(c.Parents) == 1 {
		found.Parent = c.Parents[0].GetSHA()
	}
	return found, nil
}

// changed reads the pull requests that changed at a time or after it, the one that
// changed last first.
func (s *Session) changed(ctx context.Context, repository string, since time.Time) (list []Pull, err error) {
	user, name := owner(repository)
	o := &github.PullRequestListOptions{
		State: "all", Sort: "updated", Direction: "desc", ListOptions: github.ListOptions{PerPage: pageSize},
	}
	for range maxPages {
		pulls, response, err := s.client.PullRequests.List(ctx, user, name, o)
		if err != nil {
			return nil, told("list the pull requests", err)
		}
		for _, p := range pulls {
			if p.GetUpdatedAt().Before(since) {
				return list, nil
			}
			list = append(list, pullOf(p))
		}
		if o.Page = response.NextPage; o.Page == 0 {
			break
		}
	}
	return list, nil
}
