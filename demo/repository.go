package demo

import (
	"context"
	_ "embed" // the repository of the demo
	"fmt"
	"path/filepath"

	"piworkflows/internal/git"
)

// repositoryName is the bare repository within the folder of the demo.
const repositoryName = "demo.git"

// stream makes the repository; the same commits each time.
//
//go:embed repository.fi
var stream string

// build makes the repository anew and returns the heads of its branches by key.
// A part that a killed demo left is removed first: nothing refers to it yet.
func (p place) build(ctx context.Context) (map[string]string, error) {
	path := filepath.Join(p.dir, repositoryName)
	if err := p.fs.RemoveAll(path); err != nil {
		return nil, err
	}
	repo, err := git.CreateBare(ctx, path, target, stream, git.Options{})
	if err != nil {
		return nil, fmt.Errorf("make the repository of the demo: %w", err)
	}
	heads := make(map[string]string, len(branches))
	for _, b := range branches {
		head, err := repo.ResolveRef(ctx, git.BranchRef(b.name()))
		if err != nil {
			return nil, fmt.Errorf("read the repository of the demo: %w", err)
		}
		heads[b.key] = string(head)
	}
	return heads, nil
}

// contains reports whether the target holds a commit.
func (p place) contains(ctx context.Context, commit string) (bool, error) {
	repo, err := git.Open(ctx, filepath.Join(p.dir, repositoryName), git.Options{})
	if err != nil {
		return false, err
	}
	head, err := repo.ResolveRef(ctx, git.BranchRef(target))
	if err != nil {
		return false, err
	}
	return repo.IsAncestor(ctx, git.Hash(commit), head)
}
