package workflow

import "context"

// Decision is an agent node that chooses one of a closed set of routes.
type Decision struct {
	ID string
	Limits
	StatusDetail string
	Question     func(ctx context.Context, c *Context) (string, error)
	Routes       []string
	Check        func(route string, output DecisionOutput) error
}

// DecisionOutput is the output of a decision.
type DecisionOutput struct {
	Route      string   `json:"route"`
	Reason     string   `json:"reason"`
	Evidence   []string `json:"evidence,omitempty"`
	NextAction string   `json:"nextAction,omitempty"`
}

// Node returns the agent node.
func (d Decision) Node() Agent { return Agent{ID: d.ID} }

// DecisionEdge returns the switch that follows a decision.
func DecisionEdge(from string, routes []string, cases []Case) (Edge, error) { return Edge{}, errStub }
