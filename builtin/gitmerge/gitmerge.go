// Package gitmerge is a small merge queue for any local Git repository: the
// controller git-merge and the workflow verify-branch that it starts.
//
// A resource asks for one commit of a branch to be merged into a target branch.
// Each pass reads the refs as they are. verify-branch merges the two commits
// without touching anybody's worktree, and proves the result by a check command
// in an isolated worktree. Once the merge is approved, the controller moves the
// target to exactly the commit that was checked, in one conditional
// transaction. Nothing unchecked is ever merged, and no worktree or ref of ours
// is left behind.
package gitmerge

import (
	"time"

	"piworkflows/internal/git"
)

// Name is the name of the controller, WorkflowName that of its child workflow.
const (
	Name         = "git-merge"
	WorkflowName = "verify-branch"
)

// Options says what the controller and the workflow use of this machine. The
// same ones belong to both; the zero value is ready to use.
type Options struct {
	// WorkRoot is the folder under which worktrees are made, as
	// WorkRoot/<uid>/<run ID>. It must be absolute, outside of the repositories,
	// and belong to this user alone (0700); it is made if it is missing. The
	// default is pi-workflows/worktrees in the user's cache folder, or, without
	// one, a folder with the user's number in the folder for temporary files.
	WorkRoot string
	// Git is the Git program, a path or a name to look up on PATH; "git" if
	// empty. It must be 2.38 or newer.
	Git string
	// GitTimeout bounds one call of Git; ten minutes if zero. Passes and nodes
	// have deadlines of their own, most of them shorter.
	GitTimeout time.Duration
}

func workspaceOf(o Options) workspace {
	return workspace{root: o.WorkRoot, git: git.Options{Program: o.Git, Timeout: o.GitTimeout}}
}
