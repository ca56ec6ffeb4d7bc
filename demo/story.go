package demo

import (
	"encoding/json"
	"path/filepath"

	"piworkflows/builtin/gitmerge"
	"piworkflows/controller"
	"piworkflows/internal/canonical"
)

// branch is one feature branch of the demo: what is asked for it, and how its
// story has to end.
type branch struct {
	// key is the resource key, and the name of the branch below feature/.
	key string
	// about tells what is special, for the list at the beginning.
	about string
	// check is the command that proves a merge of the branch.
	check func(repository string) []string
	// ready and reason are the Ready condition at the end; says, if set, must
	// stand in its message.
	ready  controller.ConditionStatus
	reason string
	says   string
}

// branches is the whole story.
var branches = []branch{
	{
		key: "good", about: "it merges cleanly and passes its check",
		check: plainCheck, ready: controller.True, reason: gitmerge.ReasonMerged,
	},
	{
		key: "failing", about: "it merges cleanly, but the check fails",
		check: plainCheck, ready: controller.False, reason: gitmerge.ReasonCheckFailed,
		says: "FAIL story.txt",
	},
	{
		key: "moved", about: "its head moves while it is being checked",
		check: movingCheck, ready: controller.False, reason: gitmerge.ReasonHeadChanged,
	},
	{
		key: "conflict", about: "it changes the same line as main",
		check: plainCheck, ready: controller.False, reason: gitmerge.ReasonConflict,
	},
}

func (b branch) ref() controller.Ref { return controller.Ref{Controller: gitmerge.Name, Key: b.key} }

func (b branch) name() string { return "feature/" + b.key }

// target is the branch that everything is merged into.
const target = "main"

func plainCheck(string) []string { return []string{"sh", "check.sh"} }

// movingCheck moves the head of its own branch, as a colleague would who
// pushes in the middle of a check; then it passes.
func movingCheck(repository string) []string {
	const script = `git --git-dir="$0" update-ref refs/heads/feature/moved refs/demo/moved-head && sh check.sh`
	return []string{"sh", "-c", script, repository}
}

// spec is what the demo asks of the git-merge controller for a branch.
func (b branch) spec(dir, head string) (json.RawMessage, error) {
	repository := filepath.Join(dir, repositoryName)
	return canonical.Marshal(gitmerge.Spec{
		Repository:   repository,
		Branch:       b.name(),
		Target:       target,
		ExpectedHead: head,
		Check:        b.check(repository),
		Approved:     true,
	})
}
