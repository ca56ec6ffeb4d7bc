package runbundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// document is state.json in the making. It follows the trace like the plain
// state, but in encoded form, and hands the finished steps on to a log, so that a
// projection copies them and encodes none again.
type document struct {
	state State // in encoded form, without its steps
	steps *stepLog
}

// newDocument encodes a plain state. Its steps go to the log.
func newDocument(s *State, a *artifacts, steps *stepLog) (*document, error) {
	d := &document{state: *s, steps: steps}
	d.state.Outputs, d.state.Results = maps.Clone(s.Outputs), maps.Clone(s.Results)
	d.state.Updates = slices.Clone(s.Updates)
	d.state.Steps = []Step{}
	if err := d.state.mapValues(a.encode); err != nil {
		return nil, err
	}
	for _, step := range s.Steps {
		if err := step.mapValues(a.encode); err != nil {
			return nil, err
		}
		if err := steps.append(step); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// apply folds an admitted event whose values are in encoded form.
func (d *document) apply(e Event, p Payload) error {
	d.state.apply(e, p)
	for _, step := range d.state.Steps {
		if err := d.steps.append(step); err != nil {
			return err
		}
	}
	d.state.forgetSteps()
	return nil
}

// forgetSteps drops the steps that the fold left behind, for a state whose steps
// are kept elsewhere.
func (s *State) forgetSteps() {
	clear(s.Steps)
	s.Steps = s.Steps[:0]
}

// How a state writes its steps. No value can contain these lines: they would be
// indented further.
const (
	noSteps    = "\n  \"steps\": []"
	stepsBegin = "\n  \"steps\": [\n"
	stepsEnd   = "\n  ]"
)

// write writes the content of state.json and returns its size.
func (d *document) write(w io.Writer) (size int64, err error) {
	whole, err := documentText(&d.state)
	if err != nil {
		return 0, err
	}
	before, after, found := bytes.Cut(whole, []byte(noSteps))
	if !found {
		return 0, fmt.Errorf("the text of %s has no place for steps", stateFile)
	}
	begin, end := stepsBegin, stepsEnd
	if d.steps.count == 0 {
		begin, end = noSteps, ""
	}
	_, err = w.Write(slices.Concat(before, []byte(begin)))
	if err == nil {
		err = d.steps.writeTo(w)
	}
	if err == nil {
		_, err = w.Write(slices.Concat([]byte(end), after))
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", stateFile, err)
	}
	return int64(len(before)+len(begin)+len(end)+len(after)) + d.steps.size, nil
}

// mapValues replaces each value that state.json keeps in encoded form.
func (s *State) mapValues(change func(json.RawMessage) (json.RawMessage, error)) error {
	values := []*json.RawMessage{&s.Input, &s.FinalOutput, &s.attempt.prompt}
	for i := range s.Steps {
		if err := s.Steps[i].mapValues(change); err != nil {
			return err
		}
	}
	for node, output := range s.Outputs {
		if err := changeValue(&output, change); err != nil {
			return fmt.Errorf("output of node %s: %w", node, err)
		}
		s.Outputs[node] = output
	}
	for node, result := range s.Results {
		if err := changeValue(&result.Output, change); err != nil {
			return fmt.Errorf("result of node %s: %w", node, err)
		}
		s.Results[node] = result
	}
	for _, value := range values {
		if err := changeValue(value, change); err != nil {
			return err
		}
	}
	return nil
}

// mapValues replaces the values of a step likewise.
func (s *Step) mapValues(change func(json.RawMessage) (json.RawMessage, error)) error {
	if err := errors.Join(changeValue(&s.Prompt, change), changeValue(&s.Output, change)); err != nil {
		return fmt.Errorf("step of node %s: %w", s.NodeID, err)
	}
	return nil
}

func changeValue(value *json.RawMessage, change func(json.RawMessage) (json.RawMessage, error)) (err error) {
	if *value == nil {
		return nil
	}
	*value, err = change(*value)
	return err
}

// sentPrompt is PromptSent with its prompt in encoded form.
type sentPrompt struct{ prompt json.RawMessage }

// Type returns EventPromptSent.
func (sentPrompt) Type() EventType { return EventPromptSent }

func (p sentPrompt) fold(s *State, _ Event) { s.attempt.prompt = p.prompt }

// forState returns the payload as the document folds it: with the values that
// state.json keeps encoded taken from the payload of the trace. All else, the
// texts of errors for example, is plain in state.json.
func forState(p Payload, encoded json.RawMessage) (Payload, error) {
	var values struct {
		Input       json.RawMessage `json:"input"`
		Output      json.RawMessage `json:"output"`
		FinalOutput json.RawMessage `json:"finalOutput"`
		Prompt      json.RawMessage `json:"prompt"`
	}
	if err := json.Unmarshal(encoded, &values); err != nil {
		return nil, fmt.Errorf("encoded payload of %s: %w", p.Type(), err)
	}
	switch p := p.(type) {
	case RunStarted:
		p.Input = values.Input
		return p, nil
	case PromptSent:
		return sentPrompt{values.Prompt}, nil
	case NodeEnded:
		p.Output = values.Output
		return p, nil
	case RunEnded:
		p.FinalOutput = values.FinalOutput
		return p, nil
	default:
		return p, nil
	}
}
