package cli

import (
	"encoding/json"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/runbundle"
)

// The types in this file are the JSON contract of several commands: their
// fields are only ever added to. See docs/cli-json.md.

type refLine struct {
	Controller string `json:"controller"`
	Key        string `json:"key"`
}

func refOf(r controller.Ref) refLine { return refLine(r) }

type resourceLine struct {
	Controller        string                  `json:"controller"`
	Key               string                  `json:"key"`
	UID               string                  `json:"uid"`
	Generation        int64                   `json:"generation"`
	ResourceVersion   int64                   `json:"resourceVersion"`
	Ready             controller.Readiness    `json:"ready"`
	DeletionTimestamp string                  `json:"deletionTimestamp,omitempty"`
	Queue             queueLine               `json:"queue"`
	WorkflowRun       *controller.WorkflowRun `json:"workflowRun,omitempty"`
	// State and Next are the summary and the first reason of explain.
	State controller.Standing `json:"state"`
	Next  reasonLine          `json:"next"`
}

func lineOf(r controller.Raw, q controller.QueueRow, e controller.Explanation) resourceLine {
	m := r.Metadata
	return resourceLine{
		Controller: m.Controller, Key: m.Key, UID: m.UID,
		Generation: m.Generation, ResourceVersion: m.ResourceVersion,
		Ready: controller.ReadinessOf(r), DeletionTimestamp: timeText(m.DeletionTimestamp),
		Queue: queueOf(q), WorkflowRun: r.Status.WorkflowRun, State: e.Standing, Next: reasonOf(e.Reasons[0]),
	}
}

type queueLine struct {
	State       controller.QueueState `json:"state"`
	AvailableAt string                `json:"availableAt,omitempty"`
	// Lane is absent without a row.
	Lane              string          `json:"lane,omitempty"`
	ConsecutiveErrors int             `json:"consecutiveErrors"`
	Retries           int             `json:"retries,omitempty"`
	LastError         string          `json:"lastError,omitempty"`
	Wake              int64           `json:"wake"`
	Handled           int64           `json:"handled"`
	Suspension        *suspensionLine `json:"suspension,omitempty"`
	Stalled           string          `json:"stalled,omitempty"`
}

type suspensionLine struct {
	At     string `json:"at"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func queueOf(q controller.QueueRow) queueLine {
	line := queueLine{
		State: q.State, AvailableAt: timeText(q.AvailableAt), ConsecutiveErrors: q.ConsecutiveErrors, Retries: q.Retries,
		LastError: q.LastError, Wake: q.Wake, Handled: q.Handled, Stalled: q.Stalled,
	}
	if q.State != controller.QueueNone {
		line.Lane = q.Lane.String()
	}
	if s := q.Suspension; s != nil {
		line.Suspension = &suspensionLine{clock.Format(s.At), s.Actor, s.Reason}
	}
	return line
}

type eventLine struct {
	Seq        int64                `json:"seq"`
	RecordedAt string               `json:"recordedAt"`
	Controller string               `json:"controller"`
	Key        string               `json:"key"`
	Type       controller.EventType `json:"type"`
	Payload    json.RawMessage      `json:"payload"`
}

func eventsOf(list []controller.Event) []eventLine {
	lines := make([]eventLine, len(list))
	for i, e := range list {
		lines[i] = eventLine{e.Seq, clock.Format(e.RecordedAt), e.Controller, e.Key, e.Type, e.Payload}
	}
	return lines
}

type childLine struct {
	RequestKey string              `json:"requestKey"`
	RequestID  string              `json:"requestId"`
	Workflow   string              `json:"workflow"`
	RunID      string              `json:"runId,omitempty"`
	State      controller.RunState `json:"state"`
	Attempt    int                 `json:"attempt"`
	Error      string              `json:"error,omitempty"`
	Code       string              `json:"code,omitempty"`
}

func childrenOf(list []controller.ChildRun) []childLine {
	lines := make([]childLine, len(list))
	for i, c := range list {
		lines[i] = childLine{c.RequestKey, c.RequestID, c.Workflow, c.RunID, c.State, c.Attempt, c.Error, c.Code}
	}
	return lines
}

type stepLine struct {
	Step       int               `json:"step"`
	Node       string            `json:"node"`
	Type       string            `json:"type"`
	Outcome    runbundle.Outcome `json:"outcome"`
	StartedAt  runbundle.Time    `json:"startedAt"`
	FinishedAt runbundle.Time    `json:"finishedAt"`
	DurationMs int64             `json:"durationMs"`
	Output     json.RawMessage   `json:"output"`
	Error      string            `json:"error,omitempty"`
}

func stepsOf(list []runbundle.Step) []stepLine {
	lines := make([]stepLine, len(list))
	for i, s := range list {
		lines[i] = stepLine{
			i + 1, s.NodeID, s.NodeType, s.Outcome, s.StartedAt, s.FinishedAt,
			s.FinishedAt.Sub(s.StartedAt.Time).Milliseconds(), s.Output, s.Error,
		}
	}
	return lines
}

type updateLine struct {
	Type string          `json:"type"`
	Key  string          `json:"key"`
	Node string          `json:"node"`
	At   runbundle.Time  `json:"at"`
	Data json.RawMessage `json:"data"`
}

func updatesOf(list []runbundle.Update) []updateLine {
	lines := make([]updateLine, len(list))
	for i, u := range list {
		lines[i] = updateLine{u.Type, u.Key, u.NodeID, u.At, u.Data}
	}
	return lines
}

type pendingLine struct {
	Controller string `json:"controller"`
	Key        string `json:"key"`
	Until      string `json:"until"`
	LastError  string `json:"lastError,omitempty"`
}

func pendingsOf(list []host.Pending) []pendingLine {
	lines := make([]pendingLine, len(list))
	for i, p := range list {
		lines[i] = pendingLine{p.Controller, p.Key, clock.Format(p.Until), p.LastError}
	}
	return lines
}

// timeText writes a time as every border does, and nothing for none.
func timeText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return clock.Format(*t)
}
