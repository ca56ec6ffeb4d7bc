package gitmerge

import (
	"context"
	"time"

	"piworkflows/workflow"
)

// The nodes of verify-branch.
const (
	nodeObserve  = "observe"
	nodeDecide   = "decide"
	nodeMerge    = "merge"
	nodePrepare  = "prepare"
	nodeCheck    = "check"
	nodeReturn   = "branchResult"
	nodeComplete = "complete"
	nodeBlocked  = "blocked"
)

// The routes of verify-branch.
const (
	routeMerge    = "merge"
	routePrepare  = "prepare"
	routeCheck    = "check"
	routeComplete = "complete"
	routeBlocked  = "blocked"
)

// The deadlines of the nodes; the check has that of its input. Observation and
// decision are quick: a repository that does not answer is a failure.
const (
	observeTimeout = 2 * time.Minute
	mergeTimeout   = 5 * time.Minute
	prepareTimeout = 15 * time.Minute
	cleanTimeout   = 5 * time.Minute
)

// maxVerifySteps is about twice what a run needs in which each branch fails
// once. The rule of progress ends a loop before.
const maxVerifySteps = 60

// loop connects the decision with its branches, and these with the observation.
var loop = workflow.MustControlLoop(workflow.Loop{
	Decide:   nodeDecide,
	ReturnTo: nodeObserve,
	Routes: []workflow.Route{
		{Name: routeMerge, To: nodeMerge, Returns: []string{nodeReturn}},
		{Name: routePrepare, To: nodePrepare, Returns: []string{nodeReturn}},
		{Name: routeCheck, To: nodeCheck, Returns: []string{nodeReturn}},
		{Name: routeComplete, To: nodeComplete, Terminal: true},
		{Name: routeBlocked, To: nodeBlocked, Terminal: true},
	},
})

// VerifyBranch returns the workflow verify-branch: it proves, without a model,
// that merging a commit into another gives a tree that passes a check. Its
// input is a VerifyInput and its output a VerifyOutput. A completed run leaves
// the candidate under refs/pi-workflows/<owner>/candidate and no worktree; a
// run that ended in any other way leaves neither. After one that was interrupted,
// the controller removes what is there, and so does the next run of the same
// owner.
//
// Spec: control loops.
func VerifyBranch(o Options) *workflow.Definition {
	v := verifier{workspaceOf(o)}
	return &workflow.Definition{
		Name:     WorkflowName,
		Revision: "2",
		Input:    normalizeInput,
		Title:    title,
		StartAt:  nodeObserve,
		MaxSteps: maxVerifySteps,
		Cleanup:  v.abandon,
		Nodes: []workflow.Node{
			workflow.Compute{ID: nodeObserve, Limits: within(observeTimeout), Run: v.observe, StatusDetail: "reading the refs"},
			workflow.Compute{ID: nodeDecide, Limits: within(observeTimeout), Run: decide, StatusDetail: "choosing the next step"},
			workflow.Action{ID: nodeMerge, Limits: within(mergeTimeout), Run: v.merge, StatusDetail: "merging"},
			workflow.Action{ID: nodePrepare, Limits: within(prepareTimeout), Run: v.prepare, StatusDetail: "making the worktree"},
			workflow.Shell{
				ID: nodeCheck, Limits: workflow.Limits{TimeoutFunc: checkTimeout},
				Exec: checkCommand, Parse: readCheck, StatusDetail: "checking the merge",
			},
			workflow.Compute{ID: nodeReturn, Limits: within(observeTimeout), Run: branchResult},
			workflow.Action{ID: nodeComplete, Limits: within(cleanTimeout), Run: v.complete, StatusDetail: "cleaning up"},
			workflow.Action{ID: nodeBlocked, Limits: within(cleanTimeout), Run: v.blocked, StatusDetail: "cleaning up"},
		},
		Edges: append([]workflow.Edge{
			{From: nodeObserve, To: nodeDecide},
			returning(nodeMerge), returning(nodePrepare), returning(nodeCheck),
		}, loop.Edges()...),
	}
}

func within(d time.Duration) workflow.Limits { return workflow.Limits{Timeout: d} }

// returning leads every outcome of a branch back, except cancelled: that ends
// the run.
func returning(branch string) workflow.Edge {
	return workflow.Edge{From: branch, Switch: &workflow.Switch{On: "$result.outcome", Cases: []workflow.Case{
		{Value: string(workflow.OK), To: nodeReturn},
		{Value: string(workflow.Failed), To: nodeReturn},
		{Value: string(workflow.TimedOut), To: nodeReturn},
	}}}
}

// branchOutcome says how the branch before it ended; it is the output of the
// common return point.
type branchOutcome struct {
	Branch  string           `json:"branch"`
	Outcome workflow.Outcome `json:"outcome"`
	Error   string           `json:"error,omitempty"`
}

func branchResult(_ context.Context, c *workflow.Context) (any, error) {
	last := c.View.Step(c.View.Steps() - 1)
	return branchOutcome{Branch: last.NodeID, Outcome: last.Outcome, Error: tail(last.Error, maxText)}, nil
}
