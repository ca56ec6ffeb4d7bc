package workflow_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"piworkflows/workflow"
)

func TestDecisionLimit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ limit, want workflow.DecisionLimit }{
		"default": {
			workflow.DecisionLimit{},
			workflow.DecisionLimit{Name: "decide", Active: 15 * time.Minute, Submissions: 5},
		},
		"own": {
			workflow.DecisionLimit{Name: "triage", Active: time.Second, Submissions: 1},
			workflow.DecisionLimit{Name: "triage", Active: time.Second, Submissions: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := triage()
			d.Limit = test.limit
			if got, limited := d.Node().DecisionLimit(); !limited || got != test.want {
				t.Errorf("limit = %+v, %v, want %+v", got, limited, test.want)
			}
		})
	}
}

func TestOtherAgentsHaveNoDecisionLimit(t *testing.T) {
	t.Parallel()
	if got, limited := (workflow.Agent{ID: "a", Prompt: text}).DecisionLimit(); limited {
		t.Errorf("limit = %+v", got)
	}
}

// Time in which a person holds a decision must not end it, so the clock on the
// wall does only if the author says so.
func TestDecisionHasNoDeadlineByItself(t *testing.T) {
	t.Parallel()
	d := triage()
	if got := d.Node().Timeout; got != time.Minute {
		t.Errorf("own timeout = %v", got)
	}
	d.Timeout = 0
	if got := d.Node().Timeout; got != workflow.NoTimeout {
		t.Errorf("timeout = %v, want none", got)
	}
	d.TimeoutFunc = func(context.Context, *workflow.Context) (time.Duration, error) { return 0, nil }
	if got := d.Node(); got.Timeout != 0 || got.TimeoutFunc == nil {
		t.Errorf("timeout = %v beside a function", got.Timeout)
	}
}

func TestDecisionLimitFlaws(t *testing.T) {
	t.Parallel()
	d := triage()
	d.Limit = workflow.DecisionLimit{Name: strings.Repeat("n", 256) + "\xff", Active: -1, Submissions: -1}
	def := chain("decide")
	def.Nodes = []workflow.Node{d.Node()}
	wantCheck(t, def, []flaw{
		{"nodes.decide.limit.name", "UTF-8"},
		{"nodes.decide.limit.name", "limit of 256"},
		{"nodes.decide.limit.active", "-1ns is negative"},
		{"nodes.decide.limit.submissions", "-1 is negative"},
	})
}
