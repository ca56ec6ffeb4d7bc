// Package workflow describes finite graphs as values: nodes, edges, decisions
// and control loops, with the checks that a graph must pass before it runs. It
// runs nothing; room engine does.
//
// A Definition is what an author writes. Compile checks all of it at once and
// returns a Graph, which never changes, knows its snapshot and digest, and
// answers which node follows an attempt.
//
// Spec: control loops.
package workflow

import (
	"context"
	"encoding/json"
)

// Definition is one authored workflow. It is a plain value: build it, hand it
// to Compile, and do not change it afterwards.
type Definition struct {
	// Name identifies the workflow to people and in records. It is required,
	// holds at most MaxNameBytes, and must not be a command word (answer,
	// cancel, list, pause, resume, status).
	Name string
	// Revision is raised by the author whenever a callback changes its meaning;
	// a recorded run goes on only under the revision it began with. Required:
	// up to 128 letters, digits and . _ : - that begin with a letter or digit.
	Revision string
	// ContractID optionally names what the workflow accepts and returns; it is
	// written like Revision.
	ContractID string
	// Input normalises and checks the run input before anything is written; nil
	// accepts any JSON value. An error refuses the run.
	Input func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)
	// Title optionally gives a run its title, from its normalised input.
	Title func(ctx context.Context, input json.RawMessage) (string, error)
	// Presentation optionally says how an assistant is to tell a person about a run
	// that is completed or waits: it returns instructions, or nothing if the run
	// needs no telling. A host that has a conversation asks for it, maybe long
	// after the run and maybe never; it must change nothing. Only that of the
	// workflow which was started is asked, not those of included ones.
	Presentation func(ctx context.Context, c *Context, end Ending) (string, error)
	// StartAt is the ID of the first node. Required.
	StartAt string
	// Nodes are the steps, in the order in which they are shown and recorded;
	// at least one and at most MaxNodes.
	Nodes []Node
	// Edges connect them; a node has at most one outgoing edge.
	Edges []Edge
	// Includes mount other workflows, Exits are the ends by which this one is
	// left when another includes it.
	Includes []Include
	Exits    []Exit
	// MaxSteps bounds the attempts of one run, whatever their outcome; zero
	// takes DefaultMaxSteps. Of an included workflow it bounds the attempts from
	// one entry to the next, and zero is no bound; those of the root go on.
	MaxSteps int
	// Cleanup optionally removes what a run must not leave behind, a temporary
	// folder for example. It is called once, after the end of the run is recorded
	// and nothing of it works any more, whatever the end is; but not if the run
	// goes on later (waiting, parked, interrupted). Its error is logged and
	// changes nothing: what is removed there has to be found again by whoever
	// makes it, as after a crash. An included workflow that was entered is cleaned
	// up before the one that includes it, once, with what its latest entry left:
	// the earlier ones came to an end of their own.
	Cleanup func(ctx context.Context, c *Context) error
}

// Edge leads from one node to the next. Exactly one of To and Switch is set.
type Edge struct {
	// From is a node ID, or the exit of an included workflow, written mount.exit.
	From string
	// To is the next node or mount of a plain edge, taken after an ok attempt only.
	To string
	// Switch chooses the next node by a value.
	Switch *Switch
}

// Switch chooses by a scalar. Only a `$result.` switch is asked after an
// attempt that failed or timed out; a cancelled run is never routed.
type Switch struct {
	// On is a path of keys and array indexes, joined by dots: `$.path` and
	// `$output.path` read the node's output, `$result.path` its result record.
	On string
	// Cases are asked for the value's text. There is no default case: a value
	// that none of them names fails the run.
	Cases []Case
}

// Case names the node that follows when the value, written as JavaScript would
// write it (true, 1.5, 1e+21), equals Value. Order is kept: it is the order of
// branches in drawings.
type Case struct {
	// Value is the text that the case stands for; no two cases share one.
	Value string
	// To is the ID of the node or mount that follows.
	To string
}

// Ending is how a run ended that there is to present.
type Ending struct {
	// Status is "completed" or "waiting".
	Status string
	// WaitingOn is the checkpoint at which a run waits.
	WaitingOn string
	// FinalOutput is the output of the last node.
	FinalOutput json.RawMessage
}
