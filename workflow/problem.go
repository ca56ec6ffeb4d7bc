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

// InvalidError lists everything that is wrong with a definition. Nothing of it
// was run or written.
type InvalidError struct {
	// Workflow is the name of the definition; empty if it has none, or if a
	// helper refused before there was a definition.
	Workflow string
	// Problems are in the order of the definition; there is at least one.
	Problems []Problem
}

// Error names all problems, one on each line after the first.
func (e *InvalidError) Error() string {
	name := ""
	if e.Workflow != "" {
		name = fmt.Sprintf(" %q", e.Workflow)
	}
	return "invalid workflow" + name + ": mend " + listed(e.Problems)
}

// ErrorCode is the stable code of an invalid definition.
func (*InvalidError) ErrorCode() string { return "invalid_workflow" }

// listed counts the problems and puts each on a line of its own.
func listed(problems []Problem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d problem", len(problems))
	if len(problems) != 1 {
		b.WriteByte('s')
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "\n  %s: %s", p.Place, p.Message)
	}
	return b.String()
}

// problems collects what is wrong, so that an author sees everything at once.
type problems struct{ list []Problem }

func (p *problems) addf(place, format string, args ...any) {
	p.list = append(p.list, Problem{Place: place, Message: fmt.Sprintf(format, args...)})
}

// require reports that a value without which nothing works is absent.
func (p *problems) require(present bool, place, what string) {
	if !present {
		p.addf(place, "%s is required", what)
	}
}

// err returns the collected problems as an *InvalidError, or nil.
func (p *problems) err(workflow string) error {
	if len(p.list) == 0 {
		return nil
	}
	return &InvalidError{Workflow: workflow, Problems: p.list}
}
