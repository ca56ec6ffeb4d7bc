package gitmerge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"piworkflows/internal/git"
	"piworkflows/internal/limit"
	"piworkflows/workflow"
)

// decision is the output of the node decide. Its Blocker is one of the Reason
// constants.
type decision = workflow.DecisionOutput

// decide chooses the next route from the facts. It refuses to choose one again
// that came back with the same facts.
func decide(ctx context.Context, c *workflow.Context) (any, error) {
	in, err := workflow.InputAs[VerifyInput](c)
	if err != nil {
		return nil, err
	}
	o, err := workflow.OutputAs[observation](c, nodeObserve)
	if err != nil {
		return nil, err
	}
	standing, err := guard.Standing(ctx, c)
	if err != nil {
		return nil, err
	}
	d, err := standing.Admit(choose(in, o))
	if again := (*workflow.NoProgressError)(nil); errors.As(err, &again) {
		d, err = standing.Admit(withoutProgress(again, o))
	}
	return d, errors.Join(err, d.Check(loop.Choices(), routeBlocked))
}

// guard ends a loop that goes in circles.
var guard = workflow.LoopGuard{Loop: loop, Facts: progress}

// progress are the facts that count: what was observed, without texts and paths,
// which may differ although nothing changed.
func progress(_ context.Context, c *workflow.Context) (workflow.Facts, error) {
	o, err := workflow.OutputAs[observation](c, nodeObserve)
	if err != nil {
		return nil, err
	}
	facts := workflow.Facts{"head": o.Head, "target": o.Target, "merge": o.Merge, "worktree": o.Worktree}
	if o.Check != nil {
		facts["check"] = checkResult{Outcome: o.Check.Outcome, Candidate: o.Check.Candidate, ExitCode: o.Check.ExitCode}
	}
	if o.Trouble != nil {
		facts["trouble"] = branchOutcome{Branch: o.Trouble.Branch, Outcome: o.Trouble.Outcome}
	}
	return facts, nil
}

// choose applies the rules in the order of their weight: what makes the whole
// verification void, what the merge and the check proved, what is still to do.
func choose(in VerifyInput, o observation) decision {
	switch {
	case o.Head != in.Head:
		return block(ReasonHeadChanged, fmt.Sprintf("branch %s is at %s, not at %s", in.Branch, orGone(o.Head), in.Head),
			at(in.Branch, o.Head))
	case o.Target != in.Onto:
		return block(ReasonTargetChanged, fmt.Sprintf("target %s is at %s, not at %s any more", in.Target, orGone(o.Target), in.Onto),
			at(in.Target, o.Target))
	case o.Merge == nil:
		return route(routeMerge, "there is no merge of these commits yet")
	case o.Merge.Unrelated:
		return block(ReasonUnrelated, fmt.Sprintf("%s and %s have no common ancestor", in.Branch, in.Target),
			fmt.Sprintf("%s and %s have no merge base", in.Head, in.Onto))
	case o.Merge.Candidate == "":
		return block(ReasonConflict, fmt.Sprintf("%s and %s both changed %s", in.Branch, in.Target, o.Merge.conflicts()),
			o.Merge.Conflicts...)
	case o.Check.passed(o.Merge.Candidate):
		return route(routeComplete, "the merged tree passed its check, and both branches are where they were")
	case o.Check != nil:
		return o.Check.blocked(in, o.Merge.Candidate)
	case o.Worktree != treeReady:
		return route(routePrepare, "the worktree of the run is "+string(o.Worktree))
	default:
		return route(routeCheck, "the worktree holds the candidate and nothing else")
	}
}

func route(name, reason string) decision {
	return decision{Route: name, Reason: limit.Text(reason, workflow.MaxDecisionText)}
}

func block(code, reason string, evidence ...string) decision {
	d := route(routeBlocked, reason)
	d.Blocker = code
	for _, text := range evidence {
		d.Evidence = append(d.Evidence, limit.Text(text, workflow.MaxDecisionText))
	}
	d.Alternatives = []string{alternatives[code]}
	return d
}

// at is the evidence of where a branch was observed.
func at(branch, commit string) string { return git.BranchRef(branch) + " is at " + orGone(commit) }

// alternatives says, for each blocker, why no other route is open.
var alternatives = map[string]string{
	ReasonHeadChanged:   "merging another commit than the expected one was not asked for",
	ReasonTargetChanged: "a result for the old target says nothing about the new one: verify again",
	ReasonConflict:      "a merge without conflicts does not exist: resolve them on the branch",
	ReasonUnrelated:     "a merge without a common ancestor takes a person: make it on the branch",
	ReasonCheckFailed:   "the same check on the same tree was not repeated: mend the branch or the check",
	ReasonCheckTimedOut: "the check was not repeated: make it faster, or allow it more time",
	ReasonNoProgress:    "every other route needs the one that failed",
}

// withoutProgress replaces a route that would only repeat itself.
func withoutProgress(again *workflow.NoProgressError, o observation) decision {
	reason := fmt.Sprintf("route %s came back with the same facts", again.Route)
	evidence := "attempt " + again.AttemptID + " chose it on the same " + strings.Join(again.Facts, ", ")
	if o.Trouble != nil {
		reason += fmt.Sprintf(": %s %s", o.Trouble.Branch, o.Trouble.Outcome)
		evidence = orElse(tail(o.Trouble.Error, maxText), evidence)
	}
	return block(ReasonNoProgress, reason, evidence)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func orGone(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return commit
}

// mergeResult is the output of the node merge.
type mergeResult struct {
	// Candidate is the merge commit and Tree its tree; empty if there is none.
	Candidate string `json:"candidate,omitempty"`
	Tree      string `json:"tree,omitempty"`
	// Conflicts are the first paths in conflict, More how many follow.
	Conflicts []string `json:"conflicts,omitempty"`
	More      int      `json:"more,omitempty"`
	Unrelated bool     `json:"unrelated,omitempty"`
}

// maxConflicts keeps the list of conflicts readable.
const maxConflicts = 20

func conflicted(m git.Merge) mergeResult {
	shown := m.Conflicts[:min(len(m.Conflicts), maxConflicts)]
	return mergeResult{Conflicts: shown, More: len(m.Conflicts) - len(shown)}
}

func (m mergeResult) conflicts() string {
	text := strings.Join(m.Conflicts, ", ")
	if m.More > 0 {
		text += fmt.Sprintf(" and %d more", m.More)
	}
	return text
}
