package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/workflow"
)

// delivery is a loop with two branches that share a return, an exit of an
// included workflow, and both terminal routes.
func delivery() workflow.Loop {
	return workflow.Loop{
		Decide:   "decide",
		ReturnTo: "observe",
		Routes: []workflow.Route{
			{Name: "implement", To: "implement", Returns: []string{"collect"}},
			{Name: "verify", To: "verification", Returns: []string{"verification.ready", "verification.blocked", "collect", "collect"}},
			{Name: "complete", To: "prepareCompleted", Terminal: true},
			{Name: "blocked", To: "prepareBlocked", Terminal: true},
		},
	}
}

func TestControlLoopExpandsToOrdinaryEdges(t *testing.T) {
	t.Parallel()
	loop, err := workflow.ControlLoop(delivery())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"implement", "verify", "complete", "blocked"}, loop.Choices()); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
	want := []workflow.Edge{
		choice("decide", "$.route",
			"implement", "implement", "verify", "verification", "complete", "prepareCompleted", "blocked", "prepareBlocked"),
		{From: "collect", To: "observe"},
		{From: "verification.ready", To: "observe"},
		{From: "verification.blocked", To: "observe"},
	}
	if diff := cmp.Diff(want, loop.Edges()); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
}

// A closed set of routes is only closed if each has a target.
func TestControlLoopHasACaseForEachChoice(t *testing.T) {
	t.Parallel()
	loop := workflow.MustControlLoop(delivery())
	decide := loop.Edges()[0]
	edge, err := workflow.DecisionEdge(decide.From, loop.Choices(), decide.Switch.Cases)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decide, edge); diff != "" {
		t.Errorf("edge (-loop +decision):\n%s", diff)
	}
}

func TestControlLoopMayReturnToItsDecision(t *testing.T) {
	t.Parallel()
	l := delivery()
	l.ReturnTo = "decide"
	loop, err := workflow.ControlLoop(l)
	if err != nil {
		t.Fatal(err)
	}
	if got := loop.Edges()[1]; got.To != "decide" {
		t.Errorf("return edge = %v", got)
	}
}

// A branch may begin with a fresh observation, as long as something ends it.
func TestControlLoopMayBranchToItsObservation(t *testing.T) {
	t.Parallel()
	l := delivery()
	l.Routes[0].To = "observe"
	if _, err := workflow.ControlLoop(l); err != nil {
		t.Fatal(err)
	}
}

func TestControlLoopRejects(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(l *workflow.Loop)
		want   []flaw
	}{
		"no decision":         {func(l *workflow.Loop) { l.Decide = "" }, []flaw{{"controlLoop.decide", "required"}}},
		"no return target":    {func(l *workflow.Loop) { l.ReturnTo = "" }, []flaw{{"controlLoop.returnTo", "required"}}},
		"bad decision":        {func(l *workflow.Loop) { l.Decide = "a.b" }, []flaw{{"controlLoop.decide", "no valid name"}}},
		"bad return target":   {func(l *workflow.Loop) { l.ReturnTo = "__piw_x" }, []flaw{{"controlLoop.returnTo", "reserved"}}},
		"no routes":           {func(l *workflow.Loop) { l.Routes = nil }, []flaw{{"controlLoop.routes", "at least one"}}},
		"no name":             {func(l *workflow.Loop) { l.Routes[0].Name = "" }, []flaw{{"controlLoop.routes[0].name", "required"}}},
		"bad name":            {func(l *workflow.Loop) { l.Routes[0].Name = "im plement" }, []flaw{{"controlLoop.routes[0].name", "no valid name"}}},
		"inherited name":      {func(l *workflow.Loop) { l.Routes[0].Name = "toString" }, []flaw{{"controlLoop.routes[0].name", "JavaScript"}}},
		"same name":           {func(l *workflow.Loop) { l.Routes[3].Name = "verify" }, []flaw{{"controlLoop.routes[3].name", `"verify" is declared twice`}}},
		"no target":           {func(l *workflow.Loop) { l.Routes[0].To = "" }, []flaw{{"controlLoop.routes.implement.to", "required"}}},
		"bad target":          {func(l *workflow.Loop) { l.Routes[0].To = "v.ready" }, []flaw{{"controlLoop.routes.implement.to", "no valid name"}}},
		"terminal decides":    {func(l *workflow.Loop) { l.Routes[2].To = "decide" }, []flaw{{"controlLoop.routes.complete.to", "back into the loop"}}},
		"terminal observes":   {func(l *workflow.Loop) { l.Routes[2].To = "observe" }, []flaw{{"controlLoop.routes.complete.to", "back into the loop"}}},
		"no return":           {func(l *workflow.Loop) { l.Routes[0].Returns = nil }, []flaw{{"controlLoop.routes.implement.returns", "never hands control back"}}},
		"return of terminal":  {func(l *workflow.Loop) { l.Routes[2].Returns = []string{"collect"} }, []flaw{{"controlLoop.routes.complete.returns", "terminal"}}},
		"terminal, no return": {func(l *workflow.Loop) { l.Routes[2].Returns = []string{} }, []flaw{{"controlLoop.routes.complete.returns", "drop the list"}}},
		"empty returns":       {func(l *workflow.Loop) { l.Routes[0].Returns = []string{} }, []flaw{{"controlLoop.routes.implement.returns", "never hands control back"}}},
		"bad mount":           {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"__proto__.a"} }, []flaw{{"controlLoop.routes.implement.returns[0]", "JavaScript"}}},
		"bad exit":            {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"a.constructor"} }, []flaw{{"controlLoop.routes.implement.returns[0]", "JavaScript"}}},
		"exit decides":        {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"decide.ok"} }, []flaw{{"controlLoop.routes.implement.returns[0]", "decides"}}},
		"empty return":        {func(l *workflow.Loop) { l.Routes[0].Returns = []string{""} }, []flaw{{"controlLoop.routes.implement.returns[0]", "required"}}},
		"bad return":          {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"a/b"} }, []flaw{{"controlLoop.routes.implement.returns[0]", "no valid name"}}},
		"two dots":            {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"a.b.c"} }, []flaw{{"controlLoop.routes.implement.returns[0]", `"a.b.c" has more than one dot`}}},
		"no exit":             {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"a."} }, []flaw{{"controlLoop.routes.implement.returns[0]", "required"}}},
		"no mount":            {func(l *workflow.Loop) { l.Routes[0].Returns = []string{".a"} }, []flaw{{"controlLoop.routes.implement.returns[0]", "required"}}},
		"controller returns":  {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"collect", "decide"} }, []flaw{{"controlLoop.routes.implement.returns[1]", "decides"}}},
		"terminal returns":    {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"prepareBlocked"} }, []flaw{{"controlLoop.routes.implement.returns[0]", `terminal route "blocked"`}}},
		"terminal exit":       {func(l *workflow.Loop) { l.Routes[0].Returns = []string{"prepareBlocked.x"} }, []flaw{{"controlLoop.routes.implement.returns[0]", `terminal route "blocked"`}}},
		"cancelled continues": {func(l *workflow.Loop) { l.Routes[0].Name = "cancelled" }, []flaw{{"controlLoop.routes[0].name", "cancellation ends the run"}}},
		"cancelled ends":      {func(l *workflow.Loop) { l.Routes[2].Name = "cancelled" }, []flaw{{"controlLoop.routes[2].name", "cancellation ends the run"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := delivery()
			test.change(&l)
			got, err := workflow.ControlLoop(l)
			wantFlaws(t, invalid(t, err).Problems, test.want)
			if got != nil {
				t.Errorf("loop = %v beside the error", got)
			}
		})
	}
}

func TestControlLoopReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := workflow.ControlLoop(workflow.Loop{
		ReturnTo: "observe",
		Routes: []workflow.Route{
			{Name: "cancelled", To: "x", Returns: []string{"x"}},
			{Name: "again", To: "y"},
			{Name: "again", Terminal: true, Returns: []string{"a/b"}},
		},
	})
	wantFlaws(t, invalid(t, err).Problems, []flaw{
		{"controlLoop.decide", ""},
		{"controlLoop.routes[0].name", ""},
		{"controlLoop.routes.again.returns", ""},
		{"controlLoop.routes[2].name", ""},
		{"controlLoop.routes[2].to", ""},
		{"controlLoop.routes[2].returns", ""},
		{"controlLoop.routes[2].returns[0]", ""},
	})
}

func TestMustControlLoopPanicsWithTheProblems(t *testing.T) {
	t.Parallel()
	defer func() {
		if err, isError := recover().(error); !isError || !strings.Contains(err.Error(), "controlLoop.decide") {
			t.Errorf("recovered %v", err)
		}
	}()
	workflow.MustControlLoop(workflow.Loop{})
}

func TestExpandedLoopNeverChanges(t *testing.T) {
	t.Parallel()
	l := delivery()
	loop := workflow.MustControlLoop(l)
	l.Routes[0].Name = "spoilt"
	loop.Choices()[0] = "spoilt"
	loop.Edges()[0].Switch.Cases[0].To = "spoilt"
	loop.Edges()[1].To = "spoilt"
	want := workflow.MustControlLoop(delivery())
	if diff := cmp.Diff(want.Edges(), loop.Edges()); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Choices(), loop.Choices()); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}
