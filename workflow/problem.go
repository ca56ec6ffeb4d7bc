package workflow

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a definition.
type Problem struct {
	// Place is where it is, for example "nodes.decide" or
	// "edges[3].switch.cases.verify".
	Place string
	// Message says what is wrong and how to mend it.
	Message string
}

// InvalidError lists everything that is wrong with a definition.
type InvalidError struct {
	// Workflow is the name of the definition; empty if it has none.
	Workflow string
	// Problems are in the order of the definition; there is at least one.
	Problems []Problem
}

// Error names all problems, one on each line after the first.
func (e *InvalidError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "invalid workflow definition %q", e.Workflow)
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "\n  %s: %s", p.Place, p.Message)
	}
	return b.String()
}

// ErrorCode is the stable code of an invalid definition.
func (*InvalidError) ErrorCode() string { return "invalid_workflow" }

// problems collects what is wrong.
type problems struct{ list []Problem }
