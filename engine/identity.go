package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"piworkflows/internal/canonical"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// identity says which definition a run is of. Spec: workflow engine, Source
// identity and pinning.
type identity struct {
	source, sources json.RawMessage
	digest          string
}

func identityOf(g *workflow.Graph) (identity, error) {
	source, err := canonical.Marshal(g.Source())
	if err != nil {
		return identity{}, fmt.Errorf("source of workflow %s: %w", g.Name(), err)
	}
	id := identity{source: source, digest: g.Digest()}
	if mounted := g.Sources(); len(mounted) > 0 {
		if id.sources, err = canonical.Marshal(mounted); err != nil {
			return identity{}, fmt.Errorf("included sources of workflow %s: %w", g.Name(), err)
		}
	}
	return id, nil
}

// SourceDifference is one part of the identity of a definition that changed.
type SourceDifference struct {
	// What is "source", "included sources" or "digest".
	What string `json:"what"`
	// Recorded is what the bundle says, Current what the definition has now; each
	// is "none" if there is nothing.
	Recorded string `json:"recorded"`
	Current  string `json:"current"`
}

// SourceChangedError says that a run was recorded with another definition than
// the one that it is to go on with. Nothing was written.
type SourceChangedError struct {
	RunID, Workflow string
	// Differences is never empty.
	Differences []SourceDifference
}

func (e *SourceChangedError) Error() string {
	var changes []string
	for _, d := range e.Differences {
		changes = append(changes, fmt.Sprintf("its %s was %s and is %s now", d.What, d.Recorded, d.Current))
	}
	return fmt.Sprintf("run %s was recorded with another definition of workflow %s (%s): use the program that recorded it, "+
		"or start the workflow anew, or force it to go on with this definition", e.RunID, e.Workflow, strings.Join(changes, "; "))
}

// ErrorCode is the stable code of the error.
func (*SourceChangedError) ErrorCode() string { return "source_changed" }

// check compares what is recorded with the definition of today. Forced,
// a difference is no error and comes back to be recorded.
func (id identity) check(s *runbundle.State, force bool) (runbundle.Insistence, error) {
	changed := &SourceChangedError{RunID: s.RunID, Workflow: s.WorkflowName}
	changed.compare("source", s.WorkflowSource, id.source)
	changed.compare("included sources", s.WorkflowSources, id.sources)
	if s.DefinitionDigest != id.digest {
		changed.add("digest", s.DefinitionDigest, id.digest)
	}
	switch {
	case len(changed.Differences) == 0:
		return runbundle.Insistence{}, nil
	case force:
		return runbundle.Insistence{WorkflowSourceMismatch: true, Forced: true}, nil
	default:
		return runbundle.Insistence{}, changed
	}
}

// compare compares two JSON texts, each of which may be missing.
func (e *SourceChangedError) compare(what string, recorded, current json.RawMessage) {
	if same, err := canonical.Equal(recorded, current); err == nil && same || bytes.Equal(recorded, current) {
		return
	}
	e.add(what, oneLine(recorded), oneLine(current))
}

// oneLine is how a JSON text of a file stands in a message.
func oneLine(raw json.RawMessage) string {
	var text bytes.Buffer
	if err := json.Compact(&text, raw); err != nil {
		return string(raw)
	}
	return text.String()
}

func (e *SourceChangedError) add(what, recorded, current string) {
	e.Differences = append(e.Differences, SourceDifference{What: what, Recorded: orNone(recorded), Current: orNone(current)})
}

func orNone(text string) string { return orDefault(text, "none") }
