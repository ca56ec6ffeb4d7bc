package provider

import (
	"context"

	"github.com/google/go-github/v84/github"
)

// Merge merges a pull request if it is at the commit head, and returns the merge
// commit. A *RefusedError says that nothing was merged; after any other error
// nobody knows.
func (s *Session) Merge(ctx context.Context, repository string, number int, head, message string) (string, error) {
	user, name := owner(repository)
	result, _, err := s.client.PullRequests.Merge(ctx, user, name, number, message, &github.PullRequestOptions{SHA: head})
	if err != nil {
		return "", told("merge", err)
	}
	return result.GetSHA(), nil
}

// File is one file with its whole content.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Push puts one commit with these files on a branch that is at the commit head, and
// returns it. The commits that it makes before that are nowhere to be seen. A
// *RefusedError says that the branch was not moved.
func (s *Session) Push(ctx context.Context, repository, branch, head, message string, files []File) (string, error) {
	user, name := owner(repository)
	parent, _, err := s.client.Git.GetCommit(ctx, user, name, head)
	if err != nil {
		return "", told("read the commit to build on", err)
	}
	entries := make([]*github.TreeEntry, 0, len(files))
	for _, f := range files {
		entries = append(entries, &github.TreeEntry{
			Path: &f.Path, Content: &f.Content, Mode: new("100644"), Type: new("blob"),
		})
	}
	tree, _, err := s.client.Git.CreateTree(ctx, user, name, parent.GetTree().GetSHA(), entries)
	if err != nil {
		return "", told("make a tree", err)
	}
	commit, _, err := s.client.Git.CreateCommit(ctx, user, name, github.Commit{
		Message: &message, Tree: tree, Parents: []*github.Commit{{SHA: &head}},
	}, nil)
	if err != nil {
		return "", told("make a commit", err)
	}
	_, _, err = s.client.Git.UpdateRef(ctx, user, name, "heads/"+branch, github.UpdateRef{SHA: commit.GetSHA()})
	if err != nil {
		return "", told("move the branch", err)
	}
	return commit.GetSHA(), nil
}
