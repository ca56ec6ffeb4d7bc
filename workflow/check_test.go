package workflow_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"piworkflows/workflow"
)

func TestCheckHead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(d *workflow.Definition)
		want   []flaw
	}{
		"valid":                {func(*workflow.Definition) {}, nil},
		"free name":            {func(d *workflow.Definition) { d.Name = "Überprüfe / den Stand" }, nil},
		"no name":              {func(d *workflow.Definition) { d.Name = "" }, []flaw{{"name", "required"}}},
		"command word":         {func(d *workflow.Definition) { d.Name = "resume" }, []flaw{{"name", "command word"}}},
		"long name":            {func(d *workflow.Definition) { d.Name = strings.Repeat("n", 257) }, []flaw{{"name", "limit of 256"}}},
		"name is no text":      {func(d *workflow.Definition) { d.Name = "\xff" }, []flaw{{"name", "UTF-8"}}},
		"no revision":          {func(d *workflow.Definition) { d.Revision = "" }, []flaw{{"revision", "does not match"}}},
		"bad revision":         {func(d *workflow.Definition) { d.Revision = ".1" }, []flaw{{"revision", "does not match"}}},
		"longest revision":     {func(d *workflow.Definition) { d.Revision = strings.Repeat("1", 128) }, nil},
		"revision too long":    {func(d *workflow.Definition) { d.Revision = strings.Repeat("1", 129) }, []flaw{{"revision", "does not match"}}},
		"contract":             {func(d *workflow.Definition) { d.ContractID = "a.b_c:d-1" }, nil},
		"bad contract":         {func(d *workflow.Definition) { d.ContractID = "a b" }, []flaw{{"contractId", "does not match"}}},
		"no start":             {func(d *workflow.Definition) { d.StartAt = "" }, []flaw{{"startAt", "required"}}},
		"negative steps":       {func(d *workflow.Definition) { d.MaxSteps = -1 }, []flaw{{"maxSteps", "-1 is negative"}}},
		"no nodes":             {func(d *workflow.Definition) { d.Nodes = nil }, []flaw{{"nodes", "at least one node"}}},
		"unknown start passes": {func(d *workflow.Definition) { d.StartAt = "nowhere" }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := chain("a", "b")
			test.change(d)
			wantCheck(t, d, test.want)
		})
	}
}

func TestCheckNodeIDs(t *testing.T) {
	t.Parallel()
	tests := []struct{ id, says string }{
		{"a", ""},
		{"_", ""},
		{"A-z_09", ""},
		{"__pi", ""},
		{strings.Repeat("n", 256), ""},
		{strings.Repeat("n", 257), "limit of 256"},
		{"", "required"},
		{"0a", "no valid name"},
		{"-a", "no valid name"},
		{"a/b", "no valid name"},
		{"a.b", "no valid name"},
		{"a b", "no valid name"},
		{"a\n", "no valid name"},
		{"é", "no valid name"},
		{"\xff", "no valid name"},
		{"__piw_exit", "reserved"},
		{"constructor", "JavaScript object"},
		{"toString", "JavaScript object"},
		{"toLocaleString", "JavaScript object"},
		{"valueOf", "JavaScript object"},
		{"hasOwnProperty", "JavaScript object"},
		{"isPrototypeOf", "JavaScript object"},
		{"propertyIsEnumerable", "JavaScript object"},
		{"__proto__", "JavaScript object"},
		{"__defineGetter__", "JavaScript object"},
		{"__defineSetter__", "JavaScript object"},
		{"__lookupGetter__", "JavaScript object"},
		{"__lookupSetter__", "JavaScript object"},
	}
	for _, test := range tests {
		d := chain("start")
		d.Nodes = append(d.Nodes, compute(test.id))
		var want []flaw
		if test.says != "" {
			want = []flaw{{"nodes[1].id", test.says}}
		}
		wantCheck(t, d, want)
	}
}

// embedding has all methods of a node without being one.
type embedding struct{ workflow.Compute }

func TestCheckNodes(t *testing.T) {
	t.Parallel()
	limits := func(d time.Duration) workflow.Limits { return workflow.Limits{Timeout: d} }
	tests := map[string]struct {
		node workflow.Node
		want []flaw
	}{
		"compute":             {workflow.Compute{ID: "n", Run: run}, nil},
		"compute without run": {workflow.Compute{ID: "n"}, []flaw{{"nodes.n.run", "required"}}},
		"action without run":  {workflow.Action{ID: "n"}, []flaw{{"nodes.n.run", "required"}}},
		"agent without prompt, bad text": {
			workflow.Agent{ID: "n", ExpectedOutput: "\xff"},
			[]flaw{{"nodes.n.prompt", "required"}, {"nodes.n.expectedOutput", "UTF-8"}},
		},
		"shell without exec":     {workflow.Shell{ID: "n"}, []flaw{{"nodes.n.exec", "required"}}},
		"notify without message": {workflow.Notify{ID: "n"}, []flaw{{"nodes.n.message", "required"}}},
		"notify progress":        {workflow.Notify{ID: "n", Message: text, Kind: "progress"}, nil},
		"notify final":           {workflow.Notify{ID: "n", Message: text, Kind: "final"}, nil},
		"notify kind":            {workflow.Notify{ID: "n", Message: text, Kind: "loud"}, []flaw{{"nodes.n.kind", `"loud"`}}},
		"checkpoint":             {workflow.Checkpoint{ID: "n"}, nil},
		"checkpoint summary":     {workflow.Checkpoint{ID: "n", Summary: "\xff"}, []flaw{{"nodes.n.summary", "UTF-8"}}},
		"detail":                 {workflow.Compute{ID: "n", Run: run, StatusDetail: "\xff"}, []flaw{{"nodes.n.statusDetail", "UTF-8"}}},
		"timeout":                {workflow.Compute{ID: "n", Run: run, Limits: limits(time.Second)}, nil},
		"no timeout":             {workflow.Compute{ID: "n", Run: run, Limits: limits(workflow.NoTimeout)}, nil},
		"negative timeout":       {workflow.Compute{ID: "n", Run: run, Limits: limits(-time.Second)}, []flaw{{"nodes.n.timeout", "-1s is negative"}}},
		"nil":                    {nil, []flaw{{"nodes[1]", "<nil> is no node"}}},
		"nil pointer":            {(*workflow.Agent)(nil), []flaw{{"nodes[1]", "by value"}}},
		"pointer":                {&workflow.Compute{ID: "n", Run: run}, []flaw{{"nodes[1]", "*workflow.Compute is no node"}}},
		"embedding":              {embedding{workflow.Compute{ID: "n", Run: run}}, []flaw{{"nodes[1]", "embedding is no node"}}},
		"same ID, and its own flaw": {
			workflow.Compute{ID: "start"},
			[]flaw{{"nodes[1].id", `nodes[0] has the ID "start" already`}, {"nodes[1].run", "required"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := chain("start")
			d.Nodes = append(d.Nodes, test.node)
			wantCheck(t, d, test.want)
		})
	}
}

func TestCheckEdges(t *testing.T) {
	t.Parallel()
	both := choice("a", "$.x", "1", "b")
	both.To = "b"
	tests := map[string]struct {
		edge workflow.Edge
		want []flaw
	}{
		"plain":         {workflow.Edge{From: "a", To: "b"}, nil},
		"output":        {choice("a", "$.x", "1", "b"), nil},
		"named output":  {choice("a", "$output.x.y", "1", "b"), nil},
		"result":        {choice("a", "$result.outcome", "ok", "b", "cancelled", "b"), nil},
		"empty value":   {choice("a", "$.x", "", "b"), nil},
		"odd values":    {choice("a", "$.x", "a.b", "b", "a b", "b"), nil},
		"unknown nodes": {workflow.Edge{From: "x", To: "y"}, nil},
		"no source":     {workflow.Edge{To: "b"}, []flaw{{"edges[0].from", "required"}}},
		"nowhere":       {workflow.Edge{From: "a"}, []flaw{{"edges[0]", "leads nowhere"}}},
		"both":          {both, []flaw{{"edges[0]", "a target and a switch"}}},
		"path":          {choice("a", "x", "1", "b"), []flaw{{"edges[0].switch.on", `"x" must begin with`}}},
		"bare root":     {choice("a", "$", "1", "b"), []flaw{{"edges[0].switch.on", "must begin with"}}},
		"unknown root":  {choice("a", "$input.x", "1", "b"), []flaw{{"edges[0].switch.on", "must begin with"}}},
		"no text":       {choice("a", "$.\xff", "\xfe", "b"), []flaw{{"edges[0].switch.on", "UTF-8"}, {`edges[0].switch.cases["\xfe"]`, "UTF-8"}}},
		"no cases":      {choice("a", "$.x"), []flaw{{"edges[0].switch.cases", "at least one"}}},
		"no target":     {choice("a", "$.x", "1", "b", "2", ""), []flaw{{"edges[0].switch.cases.2", "required"}}},
		"quoted place":  {choice("a", "$.x", "a.b", ""), []flaw{{`edges[0].switch.cases["a.b"]`, "required"}}},
		"twice":         {choice("a", "$.x", "1", "b", "1", "b"), []flaw{{"edges[0].switch.cases.1", "twice"}}},
		"all":           {choice("", "", "", ""), []flaw{{"edges[0].from", ""}, {"edges[0].switch.on", ""}, {`edges[0].switch.cases[""]`, ""}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := chain("a", "b")
			d.Edges = []workflow.Edge{test.edge}
			wantCheck(t, d, test.want)
		})
	}
}

func TestCheckBoundsTheNodes(t *testing.T) {
	t.Parallel()
	d := chain("start")
	d.Nodes = make([]workflow.Node, workflow.MaxNodes+1)
	got := invalid(t, d.Check()).Problems
	wantFlaws(t, got[:1], []flaw{{"nodes", "10001 nodes are over the limit of 10000"}})
}

func TestCheckOfNothing(t *testing.T) {
	t.Parallel()
	want := []flaw{{"definition", "required"}}
	var d *workflow.Definition
	wantFlaws(t, invalid(t, d.Check()).Problems, want)
	_, err := workflow.Compile(nil)
	wantFlaws(t, invalid(t, err).Problems, want)
}

func TestCheckCallsNothing(t *testing.T) {
	t.Parallel()
	called := func(context.Context, *workflow.Context) (any, error) { panic("called") }
	timeout := func(context.Context, *workflow.Context) (time.Duration, error) { panic("called") }
	d := chain("a")
	d.Nodes = []workflow.Node{workflow.Compute{ID: "a", Run: called, Limits: workflow.Limits{TimeoutFunc: timeout}}}
	wantCheck(t, d, nil)
}

func wantCheck(t *testing.T, d *workflow.Definition, want []flaw) {
	t.Helper()
	err := d.Check()
	if err == nil {
		wantFlaws(t, nil, want)
		return
	}
	got := invalid(t, err)
	wantFlaws(t, got.Problems, want)
	if got.Workflow != d.Name {
		t.Errorf("error is about workflow %q, want %q", got.Workflow, d.Name)
	}
}
