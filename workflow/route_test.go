package workflow_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"piworkflows/workflow"
)

// router is a graph in which "n" has the edge, and every target exists.
func router(t *testing.T, edges ...workflow.Edge) *workflow.Graph {
	t.Helper()
	d := &workflow.Definition{Name: "router", Revision: "1", StartAt: "all", Nodes: computes("all", "n", "a", "b")}
	d.Edges = append([]workflow.Edge{choice("all", "$.x", "n", "n", "a", "a", "b", "b")}, edges...)
	return compile(t, d)
}

func TestRouteReadsTheOutput(t *testing.T) {
	t.Parallel()
	tests := []struct{ output, on, value string }{
		{`{"x":"yes"}`, "$.x", "yes"},
		{`{"x":"yes"}`, "$output.x", "yes"},
		{`{"x":"yes"}`, "$result.output.x", "yes"},
		{` { "x" : "yes" } `, "$.x", "yes"},
		{`{"x":true}`, "$.x", "true"},
		{`{"x":false}`, "$.x", "false"},
		{`{"x":""}`, "$.x", ""},
		{`{"x":"<&>\u2028\u00e9"}`, "$.x", "<&>\u2028é"},
		{`{"x":{"y":[{"z":"deep"}]}}`, "$.x.y.0.z", "deep"},
		{`[["p","q"]]`, "$.0.1", "q"},
		{`[1,2,3]`, "$.length", "3"},
		{`{"x":[]}`, "$.x.length", "0"},
		{`{"length":"own"}`, "$.length", "own"},
		{`{"toString":"own"}`, "$.toString", "own"},
		{`{"":"empty"}`, "$.", "empty"},
		{`{"":{"":"empty"}}`, "$..", "empty"},
		{`"scalar"`, "$result.output", "scalar"},
		{`{"x":0}`, "$.x", "0"},
		{`{"x":-0}`, "$.x", "0"},
		{`{"x":-0.0}`, "$.x", "0"},
		{`{"x":1.0}`, "$.x", "1"},
		{`{"x":1.50}`, "$.x", "1.5"},
		{`{"x":1e2}`, "$.x", "100"},
		{`{"x":-12}`, "$.x", "-12"},
		{`{"x":123456789012345680000}`, "$.x", "123456789012345680000"},
		{`{"x":1e21}`, "$.x", "1e+21"},
		{`{"x":1.5e300}`, "$.x", "1.5e+300"},
		{`{"x":0.000001}`, "$.x", "0.000001"},
		{`{"x":0.0000001}`, "$.x", "1e-7"},
		{`{"x":1.25e-9}`, "$.x", "1.25e-9"},
		{`{"x":0.1}`, "$.x", "0.1"},
	}
	for _, test := range tests {
		g := router(t, choice("n", test.on, "other", "b", test.value, "a"))
		if next, done, err := g.Route(ok("n", test.output)); next != "a" || done || err != nil {
			t.Errorf("%s of %s = %q, %v, %v; want case %q", test.on, test.output, next, done, err, test.value)
		}
	}
}

func TestRouteReadsTheRecord(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 5, 9, 15, 0, 120_900_000, time.FixedZone("x", 3600))
	ended := workflow.Result{
		AttemptID: "at-1", NodeID: "n", NodeType: workflow.TypeCompute, Outcome: workflow.OK,
		StartedAt: at, FinishedAt: at.Add(time.Second), DurationMs: 1000, Output: json.RawMessage(`{"x":"yes"}`),
	}
	failed := ended
	failed.Outcome, failed.Output, failed.Error = workflow.Failed, nil, "no <luck>"
	tests := []struct {
		result    workflow.Result
		on, value string
	}{
		{ended, "$result.attemptId", "at-1"},
		{ended, "$result.nodeId", "n"},
		{ended, "$result.nodeType", "compute"},
		{ended, "$result.outcome", "ok"},
		{ended, "$result.startedAt", "2027-01-05T08:15:00.120Z"},
		{ended, "$result.finishedAt", "2027-01-05T08:15:01.120Z"},
		{ended, "$result.durationMs", "1000"},
		{ended, "$result.output.x", "yes"},
		{failed, "$result.outcome", "failed"},
		{failed, "$result.error", "no <luck>"},
	}
	for _, test := range tests {
		g := router(t, choice("n", test.on, test.value, "a"))
		if next, _, err := g.Route(test.result); next != "a" || err != nil {
			t.Errorf("%s = %q, %v; want case %q", test.on, next, err, test.value)
		}
	}
}

func TestRouteRefusesValues(t *testing.T) {
	t.Parallel()
	const notScalar, noCase = "a string, a number or a boolean", "no case names it"
	tests := map[string]struct{ output, on, value, says string }{
		"absent":           {`{}`, "$.x", "", notScalar},
		"no output":        {``, "$.x", "", notScalar},
		"null":             {`{"x":null}`, "$.x", "null", notScalar},
		"object":           {`{"x":{"a":1}}`, "$.x", `{"a":1}`, notScalar},
		"array":            {`{"x":[1]}`, "$.x", `[1]`, notScalar},
		"below a scalar":   {`{"x":"yes"}`, "$.x.length", "", notScalar},
		"below null":       {`null`, "$.x", "", notScalar},
		"outside":          {`["a"]`, "$.1", "", notScalar},
		"negative":         {`["a"]`, "$.-1", "", notScalar},
		"not an index":     {`["a"]`, "$.00", "", notScalar},
		"signed index":     {`["a"]`, "$.+0", "", notScalar},
		"inherited":        {`{}`, "$.toString", "", notScalar},
		"inherited array":  {`[]`, "$.map", "", notScalar},
		"other case":       {`{"X":"a"}`, "$.x", "", notScalar},
		"beyond a float":   {`{"x":1e999}`, "$.x", "1e999", notScalar},
		"unknown field":    {`{}`, "$result.status", "", notScalar},
		"no error":         {`{}`, "$result.error", "", notScalar},
		"text of object":   {`{"x":"toString"}`, "$.x", `"toString"`, noCase},
		"text of proto":    {`{"x":"__proto__"}`, "$.x", `"__proto__"`, noCase},
		"no such case":     {`{"x":"c"}`, "$.x", `"c"`, noCase},
		"number as text":   {`{"x":1}`, "$.x", `1`, noCase},
		"case of letters":  {`{"x":"A"}`, "$.x", `"A"`, noCase},
		"space":            {`{"x":"a "}`, "$.x", `"a "`, noCase},
		"not JSON at all":  {`{"x":`, "$.x", "", notScalar},
		"not JSON, a list": {`[`, "$.0", "", notScalar},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := router(t, choice("n", test.on, "a", "a", "1.0", "b")).Route(ok("n", test.output))
			var refused *workflow.RouteError
			if !errors.As(err, &refused) {
				t.Fatalf("error = %v, want a RouteError", err)
			}
			if refused.Node != "n" || refused.On != test.on || string(refused.Value) != test.value {
				t.Errorf("error = %#v", refused)
			}
			if !strings.Contains(refused.Reason, test.says) || refused.ErrorCode() != "route_failed" {
				t.Errorf("reason = %q, code = %q", refused.Reason, refused.ErrorCode())
			}
		})
	}
}

func TestRouteErrorTellsTheNextStep(t *testing.T) {
	t.Parallel()
	g := router(t, choice("n", "$.x", "a", "a", "b", "b"))
	tests := []struct{ output, want string }{
		{`{"x":"c"}`, `node "n": $.x leads to "c": no case names it, add one or answer with one of "a", "b"`},
		{`{}`, `node "n": $.x leads to nothing: a switch chooses by a string, a number or a boolean`},
	}
	for _, test := range tests {
		if _, _, err := g.Route(ok("n", test.output)); err == nil || err.Error() != test.want {
			t.Errorf("error = %v\nwant    %s", err, test.want)
		}
	}
	_, _, err := g.Route(ok("n", `{"x":"`+strings.Repeat("é", 5000)+`"}`))
	if n := len(err.Error()); n > 1000 {
		t.Errorf("the message of a large value has %d bytes", n)
	}
}

func TestRouteByOutcome(t *testing.T) {
	t.Parallel()
	plain := workflow.Edge{From: "n", To: "a"}
	byOutput := choice("n", "$.x", "1", "a")
	byOutcome := choice("n", "$result.outcome", "ok", "a", "failed", "b", "cancelled", "b")
	const unrouted, refused = "unrouted", "refused"
	tests := []struct {
		name    string
		edge    []workflow.Edge
		outcome workflow.Outcome
		want    string
	}{
		{"no edge", nil, workflow.OK, "done"},
		{"no edge", nil, workflow.Failed, unrouted},
		{"no edge", nil, workflow.TimedOut, unrouted},
		{"no edge", nil, workflow.Cancelled, unrouted},
		{"plain", []workflow.Edge{plain}, workflow.OK, "a"},
		{"plain", []workflow.Edge{plain}, workflow.Failed, unrouted},
		{"plain", []workflow.Edge{plain}, workflow.TimedOut, unrouted},
		{"plain", []workflow.Edge{plain}, workflow.Cancelled, unrouted},
		{"by output", []workflow.Edge{byOutput}, workflow.OK, "a"},
		{"by output", []workflow.Edge{byOutput}, workflow.Failed, unrouted},
		{"by output", []workflow.Edge{byOutput}, workflow.TimedOut, unrouted},
		{"by output", []workflow.Edge{byOutput}, workflow.Cancelled, unrouted},
		{"by outcome", []workflow.Edge{byOutcome}, workflow.OK, "a"},
		{"by outcome", []workflow.Edge{byOutcome}, workflow.Failed, "b"},
		{"by outcome", []workflow.Edge{byOutcome}, workflow.TimedOut, refused},
		{"by outcome", []workflow.Edge{byOutcome}, workflow.Cancelled, unrouted},
		{"by outcome", []workflow.Edge{byOutcome}, "unheard of", unrouted},
	}
	for _, test := range tests {
		r := ok("n", `{"x":1}`)
		r.Outcome = test.outcome
		if got := routed(router(t, test.edge...).Route(r)); got != test.want {
			t.Errorf("%s after %s: %s, want %s", test.name, test.outcome, got, test.want)
		}
	}
}

// A failed attempt has no output, even if a careless caller left one in.
func TestRouteIgnoresTheOutputOfAFailure(t *testing.T) {
	t.Parallel()
	r := ok("n", `{"x":"a"}`)
	r.Outcome = workflow.Failed
	if got := routed(router(t, choice("n", "$result.output.x", "a", "a")).Route(r)); got != "refused" {
		t.Errorf("Route = %s", got)
	}
}

func TestRouteOfAForeignNode(t *testing.T) {
	t.Parallel()
	_, _, err := router(t).Route(ok("toString", `{}`))
	if err == nil || errors.Is(err, workflow.ErrUnrouted) || !strings.Contains(err.Error(), `no node "toString"`) {
		t.Errorf("error = %v", err)
	}
}

// routed turns an answer of Route into one word.
func routed(next string, done bool, err error) string {
	var refused *workflow.RouteError
	switch {
	case errors.Is(err, workflow.ErrUnrouted):
		return "unrouted"
	case errors.As(err, &refused):
		return "refused"
	case err != nil:
		return err.Error()
	case done:
		return "done"
	default:
		return next
	}
}
