package gitmerge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/internal/canonical"
	"piworkflows/internal/git"
	"piworkflows/workflow"
)

// decision is the output of the node decide.
type decision struct {
	workflow.DecisionOutput
	// Code is the reason of a blocked decision in one word.
	Code string `json:"code,omitempty"`
	// Alternatives are what else was considered before it was blocked.
	Alternatives []string `json:"alternatives,omitempty"`
	// Fingerprint identifies the facts, without times, texts and paths.
	Fingerprint string `json:"fingerprint"`
}

// decide chooses the next route from the facts. It refuses to choose one again
// that came back with the same facts.
func decide(_ context.Context, c *workflow.Context) (any, error) {
	in, err := workflow.InputAs[VerifyInput](c)
	if err != nil {
		return nil, err
	}
	o, err := workflow.OutputAs[observation](c, nodeObserve)
	if err != nil {
		return nil, err
	}
	d := choose(in, o)
	if d.Fingerprint, err = o.fingerprint(); err != nil {
		return nil, err
	}
	again, err := chosenBefore(c.View, d)
	if err != nil {
		return nil, err
	}
	if again {
		d = d.withoutProgress(o)
	}
	return d, nil
}

// choose applies the rules in the order of their weight: what makes the whole
// verification void, what the merge and the check proved, what is still to do.
func choose(in VerifyInput, o observation) decision {
	switch {
	case o.Head != in.Head:
		return block(ReasonHeadChanged, fmt.Sprintf("branch %s is at %s, not at %s", in.Branch, orGone(o.Head), in.Head))
	case o.Target != in.Onto:
		return block(ReasonTargetChanged, fmt.Sprintf("target %s is at %s, not at %s any more", in.Target, orGone(o.Target), in.Onto))
	case o.Merge == nil:
		return route(routeMerge, "there is no merge of these commits yet")
	case o.Merge.Unrelated:
		return block(ReasonUnrelated, fmt.Sprintf("%s and %s have no common ancestor", in.Branch, in.Target))
	case o.Merge.Candidate == "":
		return block(ReasonConflict, fmt.Sprintf("%s and %s both changed %s", in.Branch, in.Target, o.Merge.conflicts()))
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
	return decision{DecisionOutput: workflow.DecisionOutput{Route: name, Reason: reason}}
}

func block(code, reason string, evidence ...string) decision {
	d := route(routeBlocked, reason)
	d.Code, d.Evidence = code, evidence
	d.Alternatives = []string{alternatives[code]}
	return d
}

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
func (d decision) withoutProgress(o observation) decision {
	reason := fmt.Sprintf("route %s came back with the same facts", d.Route)
	var evidence []string
	if o.Trouble != nil {
		reason += fmt.Sprintf(": %s %s", o.Trouble.Branch, o.Trouble.Outcome)
		evidence = []string{tail(o.Trouble.Error, maxText)}
	}
	stuck := block(ReasonNoProgress, reason, evidence...)
	stuck.Fingerprint = d.Fingerprint
	return stuck
}

// fingerprint covers the facts that count as progress. It leaves out texts and
// paths, which may differ although nothing changed.
func (o *observation) fingerprint() (string, error) {
	facts := *o
	facts.Path = ""
	if o.Trouble != nil {
		facts.Trouble = &branchOutcome{Branch: o.Trouble.Branch, Outcome: o.Trouble.Outcome}
	}
	if o.Check != nil {
		facts.Check = &checkResult{Outcome: o.Check.Outcome, Candidate: o.Check.Candidate, ExitCode: o.Check.ExitCode}
	}
	raw, err := canonical.Marshal(facts)
	if err != nil {
		return "", err
	}
	return canonical.Fingerprint(raw)
}

// chosenBefore looks for the same route with the same facts in the steps so far:
// there is no other memory, so it holds across a resume.
func chosenBefore(v workflow.View, d decision) (bool, error) {
	if d.Route == routeComplete || d.Route == routeBlocked {
		return false, nil
	}
	for i := range v.Steps() {
		step := v.Step(i)
		if step.NodeID != nodeDecide || step.Outcome != workflow.OK {
			continue
		}
		var earlier decision
		if err := json.Unmarshal(step.Output, &earlier); err != nil {
			return false, fmt.Errorf("read an earlier decision: %w", err)
		}
		if earlier.Route == d.Route && earlier.Fingerprint == d.Fingerprint {
			return true, nil
		}
	}
	return false, nil
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
