package runbundle

import (
	"encoding/json"
	"errors"
)

// The schemas of the files. Spec: run bundle format, sections 4 to 7.
const (
	manifestSchema = "pi-workflows.run-bundle.v1"
	snapshotSchema = "pi-workflows.definition-snapshot.v1"
	stateSchema    = "pi-workflows.run-state.v1"
	traceSchema    = "pi-workflows.trace-event.v1"
)

// The files of a bundle.
const (
	manifestFile = "manifest.json"
	workflowFile = "workflow.json"
	stateFile    = "state.json"
	traceFile    = "trace.ndjson"
	stepsFile    = "steps" // as a temporary file only
)

// Manifest is what manifest.json holds: what lists of runs show.
type Manifest struct {
	Schema           string          `json:"schema"`
	RunID            string          `json:"runId"`
	WorkflowName     string          `json:"workflowName"`
	RunTitle         string          `json:"runTitle,omitempty"`
	WorkflowSource   json.RawMessage `json:"workflowSource,omitempty"`
	WorkflowSources  json.RawMessage `json:"workflowSources,omitempty"`
	DefinitionDigest string          `json:"definitionDigest,omitempty"`
	StartedAt        Time            `json:"startedAt"`
	FinishedAt       Time            `json:"finishedAt,omitzero"`
	// Status may lag behind the trace while a run goes on, and after a crash.
	Status      Status `json:"status"`
	TraceSchema string `json:"traceSchema"`
	Paths       Paths  `json:"paths"`
}

// Paths are where the parts of a bundle lie in it.
type Paths struct {
	Workflow  string `json:"workflow"`
	State     string `json:"state"`
	Trace     string `json:"trace"`
	Session   string `json:"session,omitempty"`
	Artifacts string `json:"artifacts"`
}

// manifestOf returns the manifest that goes with a state.
func manifestOf(s *State) Manifest {
	return Manifest{
		Schema: manifestSchema, RunID: s.RunID, WorkflowName: s.WorkflowName, RunTitle: s.RunTitle,
		WorkflowSource: s.WorkflowSource, WorkflowSources: s.WorkflowSources, DefinitionDigest: s.DefinitionDigest,
		StartedAt: s.StartedAt, FinishedAt: s.FinishedAt, Status: s.Status, TraceSchema: traceSchema,
		Paths: Paths{Workflow: workflowFile, State: stateFile, Trace: traceFile, Artifacts: artifactsDir},
	}
}

// check reports what keeps a manifest from being one.
func (m *Manifest) check() error {
	switch {
	case CheckRunID(m.RunID) != nil:
		return errors.New("runId is missing or no run ID")
	case m.WorkflowName == "":
		return errors.New("workflowName is missing")
	case m.StartedAt.IsZero():
		return errors.New("startedAt is missing")
	case !m.Status.known():
		return errors.New("status is missing or unknown")
	case m.TraceSchema != traceSchema:
		return errors.New("traceSchema is missing or unknown")
	}
	return nil
}

// documentText returns the content of a document of the format: indented, with a
// newline at its end.
func documentText(v any) ([]byte, error) {
	raw, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	return append(indented(raw, ""), '\n'), nil
}
