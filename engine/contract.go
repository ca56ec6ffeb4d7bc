package engine

import (
	"encoding/json"
	"fmt"
	"strings"
)

// noExpectation is what an agent is asked for if the author does not say.
const noExpectation = "a JSON object with your result"

// Text returns the part of a prompt that tells an agent how to report and how
// to hand in its result. It follows the author's part after an empty line.
// Spec: workflow engine, Step contract.
func (c AgentContract) Text() string {
	return strings.Join([]string{
		"---",
		fmt.Sprintf("This is step %s (attempt %s) of the workflow %s.", c.NodeID, c.AttemptID, c.WorkflowName),
		"While you work you may report how it goes; that does not complete the step. Call the tool `workflow` with:",
		c.call("update", "update", `{"type":<kind of report>,"key":<what it is about>,"data":<a JSON object>}`),
		"When you have the result, call the tool `workflow` exactly once with:",
		c.SubmitCall(),
		"The result must be: " + c.Expected(),
		"The step is complete only once the tool accepts the result. If it names a problem, correct the result and call it again.",
	}, "\n")
}

// SubmitCall returns the parameters with which an agent hands in its result.
func (c AgentContract) SubmitCall() string { return c.call("submit", "output", "<your result>") }

// Expected returns what the result must be.
func (c AgentContract) Expected() string {
	if c.ExpectedOutput == "" {
		return noExpectation
	}
	return c.ExpectedOutput
}

// call writes parameters of the tool; value is a form to fill in.
func (c AgentContract) call(action, field, value string) string {
	return fmt.Sprintf(`{"action":%q,"step":%s,"attempt":%s,%q:%s}`, action, quoted(c.NodeID), quoted(c.AttemptID), field, value)
}

// quoted writes a text as JSON, for a model to copy.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		return `""` // not reached: every text has a JSON form
	}
	return string(raw)
}
