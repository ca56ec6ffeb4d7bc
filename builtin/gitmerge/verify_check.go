package gitmerge

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"piworkflows/workflow"
)

// checkResult is the output of the node check.
type checkResult struct {
	// Outcome is ok if the command ran to its end, whatever came of it.
	Outcome workflow.Outcome `json:"outcome"`
	// Candidate is the commit that was checked.
	Candidate string `json:"candidate,omitempty"`
	ExitCode  *int   `json:"exitCode,omitempty"`
	Signal    string `json:"signal,omitempty"`
	// Output is the end of what the command wrote.
	Output string `json:"output,omitempty"`
}

// passed reports whether the check was passed by that candidate.
func (r *checkResult) passed(candidate string) bool {
	return r != nil && r.Outcome == workflow.OK && r.Candidate == candidate && r.ExitCode != nil && *r.ExitCode == 0
}

// blocked is the decision after a check that did not pass.
func (r *checkResult) blocked(in VerifyInput, candidate string) decision {
	on := fmt.Sprintf("on %s, the merge of %s into %s", candidate, in.Branch, in.Target)
	wrote := orElse(tail(r.Output, maxText), "the check wrote nothing")
	switch {
	case r.Outcome == workflow.TimedOut:
		return block(ReasonCheckTimedOut, fmt.Sprintf("the check took longer than %s %s", time.Duration(in.CheckTimeout), on), wrote)
	case r.Outcome != workflow.OK:
		return block(ReasonCheckFailed, "the check could not be run "+on, wrote)
	case r.ExitCode == nil:
		return block(ReasonCheckFailed, fmt.Sprintf("the check was ended by %s %s", r.Signal, on), wrote)
	default:
		return block(ReasonCheckFailed, fmt.Sprintf("the check ended with code %d %s", *r.ExitCode, on), wrote)
	}
}

func checkTimeout(_ context.Context, c *workflow.Context) (time.Duration, error) {
	in, err := workflow.InputAs[VerifyInput](c)
	return time.Duration(in.CheckTimeout), err
}

// checkCommand runs the check in the worktree that was observed. The check sees
// no GIT_* variable of ours: it would turn its Git elsewhere.
func checkCommand(_ context.Context, c *workflow.Context) (workflow.Command, error) {
	in, err := workflow.InputAs[VerifyInput](c)
	if err != nil {
		return workflow.Command{}, err
	}
	o, err := workflow.OutputAs[observation](c, nodeObserve)
	if err != nil {
		return workflow.Command{}, err
	}
	return workflow.Command{
		Command: in.Check[0], Args: in.Check[1:], Dir: o.Path, Env: withoutGit(os.Environ()), AllowFailure: true,
	}, nil
}

func withoutGit(environ []string) map[string]*string {
	removed := map[string]*string{}
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(strings.ToUpper(name), "GIT_") {
			removed[name] = nil
		}
	}
	return removed
}

// readCheck records what the command proved of the candidate that was in its
// worktree.
func readCheck(_ context.Context, c *workflow.Context, r workflow.CommandResult) (any, error) {
	o, err := workflow.OutputAs[observation](c, nodeObserve)
	if err != nil {
		return nil, err
	}
	result := checkResult{Outcome: workflow.OK, Candidate: o.Merge.Candidate, ExitCode: r.ExitCode, Output: joined(r.Stdout, r.Stderr)}
	if r.Signal != nil {
		result.Signal = *r.Signal
	}
	return result, nil
}
