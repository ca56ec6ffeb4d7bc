package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// noExpectation is what an agent is asked for if the author does not say.
const noExpectation = "a JSON object with your result"

// text returns the part of a prompt that tells an agent how to hand in its
// result. Spec: workflow engine, Step contract.
func (c AgentContract) text() string {
	expected := c.ExpectedOutput
	if expected == "" {
		expected = noExpectation
	}
	step, attempt := strconv.Quote(c.NodeID), strconv.Quote(c.AttemptID)
	return strings.Join([]string{
		"---",
		fmt.Sprintf("This is step %s (attempt %s) of the workflow %s.", c.NodeID, c.AttemptID, c.WorkflowName),
		"When you have the result, call the tool `workflow` exactly once with:",
		fmt.Sprintf(`{"action":"submit","step":%s,"attempt":%s,"output":<your result>}`, step, attempt),
		"The result must be: " + expected,
		"The step is complete only once the tool accepts the result. If it names a problem, correct the result and call it again.",
	}, "\n")
}
