package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/internal/canonical"
)

// EntrySchema identifies the output of the node that enters a mount.
const EntrySchema = "pi-workflows.include-entry.v1"

// Include mounts another workflow as a part of this one. Edges may lead to the
// name of the mount, and from each of the child's exits, written mount.exit.
//
// The child works in a scope of its own: its callbacks see its own nodes under
// their own IDs, and each time the mount is entered it begins with nothing. Of
// the child the parent sees the result of its latest exit, as the output of the
// mount (see ExitResult). The answer to a checkpoint is the input of the run that
// goes on, which the child does not see: a parent that asks hands it on by Input.
//
// Spec: control loops, Included workflows; reference, workflow composition.
type Include struct {
	// Mount is the name under which the child is included; written like a node
	// ID, and different from every node's. Required.
	Mount string
	// Workflow is the child. It declares at least one exit, and each of its
	// nodes without an outgoing edge is one. Required.
	Workflow *Definition
	// Input makes the input of the child from what the parent sees; what it
	// returns becomes JSON like the output of a Func. The child's own Input
	// function is asked after it. Nil hands the parent's input on.
	Input Func
}

// Exit is a named end of a workflow that is included by another. In a run of its
// own a workflow has no exits: it ends with its last node.
type Exit struct {
	// Name is written like a node ID. Required.
	Name string
	// From is the node that the exit follows; it has no outgoing edge. Required.
	From string
	// Validate optionally checks and normalises the output of From before the
	// parent sees it. Its error is a failure that no edge follows.
	Validate func(ctx context.Context, output json.RawMessage) (json.RawMessage, error)
}

// ExitResult is the output of a mount once the child has left through an exit. A
// switch on an exit may read $.exit and $.output.
type ExitResult struct {
	Exit   string          `json:"exit"`
	Output json.RawMessage `json:"output"`
}

// entry is the output of the node that enters a mount.
type entry struct {
	Schema string `json:"schema"`
	// Invocation counts the entries of the mount in the run from one.
	Invocation int             `json:"invocation"`
	Input      json.RawMessage `json:"input"`
}

// enter makes the input of the child; it runs in the scope of the parent.
func (in Include) enter(ctx context.Context, c *Context) (any, error) {
	input := c.Input
	if in.Input != nil {
		mapped, err := in.Input(ctx, c)
		if err != nil {
			return nil, err
		}
		if input, err = jsonOf(mapped); err != nil {
			return nil, fmt.Errorf("input of mount %s: %w", in.Mount, err)
		}
	}
	if normalise := in.Workflow.Input; normalise != nil {
		normalised, err := normalise(ctx, input)
		if err != nil {
			return nil, fmt.Errorf("workflow %s refuses the input of mount %s: %w", in.Workflow.Name, in.Mount, err)
		}
		input = normalised
	}
	return entry{Schema: EntrySchema, Invocation: c.invocation, Input: orNull(input)}, nil
}

// leave hands the output of the child to its parent; it runs in the scope of the
// child.
func (x Exit) leave(ctx context.Context, c *Context) (any, error) {
	output, ok := c.View.Output(x.From)
	if !ok {
		return nil, fmt.Errorf("exit %s: node %s has no output", x.Name, x.From)
	}
	if x.Validate != nil {
		var err error
		if output, err = x.Validate(ctx, output); err != nil {
			return nil, fmt.Errorf("exit %s refuses the output of node %s: %w", x.Name, x.From, err)
		}
	}
	return ExitResult{Exit: x.Name, Output: orNull(output)}, nil
}

// jsonOf returns the JSON text of what a callback returned.
func jsonOf(v any) (json.RawMessage, error) {
	raw, isRaw := v.(json.RawMessage)
	if !isRaw {
		return canonical.Marshal(v)
	}
	return orNull(raw), canonical.Check(orNull(raw))
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// exitNode names the node that leaves a mount.
func exitNode(mount, exit string) string { return mount + "/" + reservedPrefix + "exit_" + exit }

// includeShapes checks the mounts by themselves; the children are checked with
// their own definitions.
func (d *Definition) includeShapes(p *problems) {
	first := make(map[string]int, len(d.Includes))
	for i, in := range d.Includes {
		place := fmt.Sprintf("includes[%d]", i)
		switch earlier, twice := first[in.Mount]; {
		case !p.id(place+".mount", in.Mount):
		case twice:
			p.addf(place+".mount", "includes[%d] has the name %q already: choose another", earlier, in.Mount)
		case d.hasNode(in.Mount):
			p.addf(place+".mount", "%q is a node: choose another name", in.Mount)
		default:
			first[in.Mount] = i
			place = includePlace(in.Mount)
		}
		p.require(in.Workflow != nil, place+".workflow", "the included workflow")
	}
}

func (d *Definition) hasNode(id string) bool {
	for _, n := range d.Nodes {
		if isValue(n) && n.NodeID() == id {
			return true
		}
	}
	return false
}

func (d *Definition) exitShapes(p *problems) {
	first := make(map[string]int, len(d.Exits))
	for i, x := range d.Exits {
		place := fmt.Sprintf("exits[%d]", i)
		switch earlier, twice := first[x.Name]; {
		case !p.id(place+".name", x.Name):
		case twice:
			p.addf(place+".name", "exits[%d] has the name %q already: choose another", earlier, x.Name)
		default:
			first[x.Name] = i
			place = exitPlace(x.Name)
		}
		p.require(x.From != "", place+".from", "the ID of a node")
	}
}

// exit returns the exit of that name.
func (d *Definition) exit(name string) (Exit, bool) {
	for _, x := range d.Exits {
		if x.Name == name {
			return x, true
		}
	}
	return Exit{}, false
}

func includePlace(mount string) string { return "includes." + mount }

func exitPlace(name string) string { return "exits." + name }

// cutExit splits the name of an exit as an edge writes it.
func cutExit(name string) (mount, exit string, isExit bool) { return strings.Cut(name, ".") }
