package runbundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CodeInterrupted is the ErrorCode of a state that ended with run_interrupted.
const CodeInterrupted = "interrupted"

// Fold applies one event in plain form to a state. It is the only place that
// says what an event means. An event that cannot follow the state is refused
// and the state stays as it was; a state that is final takes none.
func Fold(s *State, e Event) error {
	p, err := e.Decode()
	if err != nil {
		return err
	}
	if err := s.admit(e, p); err != nil {
		return err
	}
	s.apply(e, p)
	return nil
}

// admit reports why an event cannot follow the state.
func (s *State) admit(e Event, p Payload) error {
	switch {
	case s.Status != Running:
		return fmt.Errorf("%s cannot follow the end of the run: %w", e.Type, ErrEnded)
	case e.Seq != s.TraceSeq+1:
		return fmt.Errorf("event %d follows event %d", e.Seq, s.TraceSeq)
	case e.RunID != s.RunID:
		return fmt.Errorf("event %d belongs to run %.200q", e.Seq, e.RunID)
	}
	if ended, isEnd := p.(NodeEnded); isEnd && !ended.Outcome.known() {
		return fmt.Errorf("an attempt does not end as %.60q", ended.Outcome)
	}
	switch p := p.(type) {
	case PromptSent, UpdatePublished, NodeEnded:
		if e.AttemptID == "" || e.AttemptID != s.CurrentAttemptID {
			return fmt.Errorf("%s of attempt %.60q while attempt %.60q runs", e.Type, e.AttemptID, s.CurrentAttemptID)
		}
	case NodeStarted:
		if e.AttemptID == "" || e.NodeID == "" {
			return errors.New("node_started names no node or no attempt")
		}
	case RunEnded:
		if !p.Status.Terminal() {
			return fmt.Errorf("a run does not end as %.60q", p.Status)
		}
	}
	return nil
}

// apply folds an admitted event.
func (s *State) apply(e Event, p Payload) {
	s.TraceSeq, s.UpdatedAt = e.Seq, e.At
	p.fold(s, e)
}

func (p RunStarted) fold(s *State, _ Event) {
	s.WorkflowName, s.RunTitle, s.Input = p.WorkflowName, p.RunTitle, p.Input
}

func (p NodeStarted) fold(s *State, e Event) {
	s.CurrentNode, s.CurrentAttemptID, s.CurrentNodeStartedAt = e.NodeID, e.AttemptID, e.At
	s.StatusDetail = p.StatusDetail
	s.attempt = attempt{nodeType: p.NodeType}
}

func (p PromptSent) fold(s *State, _ Event) { s.attempt.prompt = textOf(p.Prompt) }

// fold keeps the latest update of a type and key, in the order of their seq.
func (p UpdatePublished) fold(s *State, e Event) {
	s.Updates = slices.DeleteFunc(s.Updates, func(u Update) bool { return u.Type == p.Kind && u.Key == p.Key })
	s.Updates = append(s.Updates, Update{
		UpdateID: p.UpdateID, Seq: e.Seq, At: e.At, RunID: e.RunID, NodeID: e.NodeID, AttemptID: e.AttemptID,
		Type: p.Kind, Key: p.Key, Data: p.Data,
	})
}

func (p NodeEnded) fold(s *State, e Event) {
	r := Result{
		AttemptID: e.AttemptID, NodeID: e.NodeID, NodeType: s.attempt.nodeType, Outcome: p.Outcome,
		StartedAt:  s.CurrentNodeStartedAt,
		FinishedAt: Time{s.CurrentNodeStartedAt.Add(time.Duration(p.DurationMs) * time.Millisecond)},
		DurationMs: p.DurationMs, Output: p.Output, Error: p.Error,
	}
	s.Results[e.NodeID] = r
	s.leave(e.NodeID, r)
	// A repeat that failed must not leave the output of an earlier success.
	delete(s.Outputs, e.NodeID)
	if p.Outcome == OutcomeOK {
		s.Outputs[e.NodeID] = p.Output
	}
	s.Steps = append(s.Steps, Step{
		AttemptID: r.AttemptID, NodeID: r.NodeID, NodeType: r.NodeType, Outcome: r.Outcome,
		StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Prompt: s.attempt.prompt, Output: r.Output, Error: r.Error,
		ErrorCode: p.ErrorCode, Action: p.Action, Conversation: p.Conversation,
	})
	s.clearAttempt()
}

// exitMark stands in the ID of a node that leaves a mount, after the path of the
// mount. Spec: workflow engine, Composition.
const exitMark = "/__piw_exit_"

// leave shows the result of a mount that was left under the path of the mount.
func (s *State) leave(node string, r Result) {
	mount, _, exits := strings.Cut(node, exitMark)
	if exits && r.Outcome == OutcomeOK {
		r.NodeID = mount
		s.Results[mount], s.Outputs[mount] = r, r.Output
	}
}

// fold changes nothing: the state follows from the node that entered or left.
func (IncludeEntered) fold(*State, Event) {}

func (RunPaused) fold(s *State, _ Event) { s.Paused = true }

// fold forgets the attempt that was running when the run stopped: it has no
// end, and its node starts anew.
func (RunResumed) fold(s *State, _ Event) {
	s.Paused = false
	s.clearAttempt()
}

func (p RunEnded) fold(s *State, e Event) {
	s.finish(e, p.Status, p.Error, p.ErrorCode)
	s.WaitingOn, s.FinalOutput = p.WaitingOn, p.FinalOutput
}

func (p RunInterrupted) fold(s *State, e Event) { s.finish(e, Failed, p.Error, CodeInterrupted) }

func (unknown) fold(*State, Event) {}

func (s *State) finish(e Event, status Status, message, code string) {
	s.Status, s.FinishedAt, s.Error, s.ErrorCode = status, e.At, message, code
	s.Paused = false
	s.clearAttempt()
}

func (s *State) clearAttempt() {
	s.CurrentNode, s.CurrentAttemptID, s.StatusDetail = "", "", ""
	s.CurrentNodeStartedAt = Time{}
	s.attempt = attempt{}
}

// textOf returns the JSON text of a string, without needless escapes.
func textOf(text string) json.RawMessage {
	raw, _ := encodeJSON(text) // a string always has a JSON text
	return raw
}
