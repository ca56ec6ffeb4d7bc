package engine

import (
	"encoding/json"

	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// follow takes the step that was just recorded, and records that a mount was
// entered or left.
func (r *Run) follow(node workflow.Node, v verdict) error {
	// From what was recorded, as reading it back would cost more than the step.
	r.take(r.w.Steps()-1, workflow.Step{NodeID: node.NodeID(), NodeType: node.Type(), Outcome: v.outcome, Output: v.output})
	if v.outcome != workflow.OK {
		return nil
	}
	if d, crosses := r.crossing(node.NodeID(), v.output); crosses {
		return r.append(d)
	}
	return nil
}

// retrace takes the steps of an earlier part of the run.
func (r *Run) retrace(steps []runbundle.Step) {
	for i, s := range steps {
		r.take(i, stepOf(s))
	}
}

// take takes a recorded step into what the run knows of its past.
func (r *Run) take(index int, s workflow.Step) {
	r.scopes.Record(index, s)
	r.count(s)
}

// crossing is the event of a node that enters or leaves a mount.
func (r *Run) crossing(node string, output json.RawMessage) (d runbundle.Draft, crosses bool) {
	c, crosses := r.scopes.Crossing(node)
	if !crosses {
		return d, false
	}
	in := runbundle.IncludeEntered{MountPath: c.MountPath, WorkflowName: c.WorkflowName, Invocation: c.Invocation}
	d = runbundle.Draft{At: r.e.o.Clock.Now(), Payload: in}
	if c.Exit != "" {
		d.Payload = runbundle.IncludeExited{IncludeEntered: in, Exit: c.Exit, Output: output}
	}
	return d, true
}

// lost is the event of a mount that was entered or left right before the owner
// died.
func (r *Run) lost(b *runbundle.Bundle) (runbundle.Draft, bool) {
	if len(b.Events) == 0 {
		return runbundle.Draft{}, false
	}
	last := b.Events[len(b.Events)-1]
	if last.Type != runbundle.EventNodeFinished {
		return runbundle.Draft{}, false
	}
	return r.crossing(last.NodeID, b.State.Results[last.NodeID].Output)
}
