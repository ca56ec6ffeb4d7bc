package runbundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// document is the text of state.json in the making. It follows the trace like
// the plain state, but in encoded form, and keeps the finished steps as text,
// so that a projection copies them and encodes none again.
type document struct {
	state State // in encoded form, without its steps
	steps []byte
}

// newDocument encodes a plain state.
func newDocument(s *State, a *artifacts) (*document, error) {
	d := &document{state: *s}
	d.state.Outputs, d.state.Results = maps.Clone(s.Outputs), maps.Clone(s.Results)
	d.state.Updates = slices.Clone(s.Updates)
	d.state.Steps = slices.Clone(s.Steps)
	if err := d.state.mapValues(a.encode); err != nil {
		return nil, err
	}
	return d, d.absorbSteps()
}

// apply folds an admitted event whose values are in encoded form.
func (d *document) apply(e Event, p Payload) error {
	d.state.apply(e, p)
	return d.absorbSteps()
}

// absorbSteps turns the steps that the fold left behind into text.
func (d *document) absorbSteps() error {
	for _, step := range d.state.Steps {
		raw, err := encodeJSON(step)
		if err != nil {
			return fmt.Errorf("step of node %s: %w", step.NodeID, err)
		}
		if len(d.steps) > 0 {
			d.steps = append(d.steps, ",\n"...)
		}
		d.steps = append(d.steps, "    "...)
		d.steps = append(d.steps, indented(raw, "    ")...)
	}
	clear(d.state.Steps)
	d.state.Steps = d.state.Steps[:0]
	return nil
}

// noSteps is how a state without steps writes them. No value can contain this
// line: it would be indented further.
const noSteps = "\n  \"steps\": []"

// text returns the content of state.json.
func (d *document) text() ([]byte, error) {
	whole, err := documentText(&d.state)
	if err != nil || len(d.steps) == 0 {
		return whole, err
	}
	before, after, found := bytes.Cut(whole, []byte(noSteps))
	if !found {
		return nil, fmt.Errorf("the text of %s has no place for steps", stateFile)
	}
	return slices.Concat(before, []byte("\n  \"steps\": [\n"), d.steps, []byte("\n  ]"), after), nil
}

// mapValues replaces each value that state.json keeps in encoded form.
func (s *State) mapValues(change func(json.RawMessage) (json.RawMessage, error)) error {
	values := []*json.RawMessage{&s.Input, &s.FinalOutput, &s.attempt.prompt}
	for i := range s.Steps {
		values = append(values, &s.Steps[i].Prompt, &s.Steps[i].Output)
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
