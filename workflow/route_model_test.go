package workflow_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piworkflows/workflow"
)

// The model routes over decoded values, by the rules as they are written down;
// Route works on JSON text. Both must agree on every graph and every result.
func TestRouteAgreesWithItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		edges := drawEdges(t)
		d := &workflow.Definition{Name: "random", Revision: "1", StartAt: "all", Nodes: computes("all", "n0", "n1", "n2"), Edges: edges}
		g, err := workflow.Compile(d)
		if err != nil {
			t.Fatal(err)
		}
		r, record := drawResult(t)
		want := model(edges, record)
		if got := routed(g.Route(r)); got != want {
			t.Fatalf("Route = %s, model says %s\nedges: %s\nrecord: %v", got, want, asJSON(edges), record)
		}
	})
}

func model(edges []workflow.Edge, record map[string]any) string {
	var edge *workflow.Edge
	for i := range edges {
		if edges[i].From == record["nodeId"] {
			edge = &edges[i]
		}
	}
	outcome := record["outcome"]
	asked := outcome == "ok" ||
		outcome != "cancelled" && edge != nil && edge.Switch != nil && strings.HasPrefix(edge.Switch.On, "$result.")
	switch {
	case !asked:
		return "unrouted"
	case edge == nil:
		return "done"
	case edge.Switch == nil:
		return edge.To
	}
	path := strings.Replace(edge.Switch.On, "$.", "$output.", 1)
	path = strings.Replace(path, "$output.", "$result.output.", 1)
	value, isScalar := modelText(modelWalk(record, strings.Split(path, ".")[1:]))
	if !isScalar {
		return "refused"
	}
	for _, c := range edge.Switch.Cases {
		if c.Value == value {
			return c.To
		}
	}
	return "refused"
}

func modelWalk(value any, parts []string) any {
	if len(parts) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		return modelWalk(v[parts[0]], parts[1:])
	case []any:
		for i := range v {
			if strconv.Itoa(i) == parts[0] {
				return modelWalk(v[i], parts[1:])
			}
		}
		if parts[0] == "length" {
			return modelWalk(literal(strconv.Itoa(len(v))), parts[1:])
		}
	}
	return nil
}

// literal is a number of a drawn value, as it is written.
type literal string

// numbers are literals with the text that JavaScript gives them.
var numbers = map[literal]string{
	"0": "0", "1": "1", "1.0": "1", "2": "2", "3": "3", "-2": "-2",
	"0.50": "0.5", "1e3": "1000", "1E21": "1e+21", "1e-7": "1e-7",
}

func modelText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case literal:
		return numbers[v], true
	default:
		return "", false
	}
}

var (
	keys   = []string{"x", "y", "0", "1", "length", "toString", ""}
	texts  = []string{"", "a", "true", "1", "1.0", "toString", "<é>", "ok", "failed", "null"}
	values = []string{"", "a", "true", "false", "0", "1", "2", "-2", "0.5", "1000", "1e+21", "1e-7", "toString", "<é>", "ok", "failed", "timed_out", "cancelled", "n0"}
	heads  = []string{"$", "$output", "$result.output", "$result"}
	fields = []string{"outcome", "nodeId", "error", "durationMs", "output", "startedAt"}
)

// drawEdges makes all nodes reachable from "all" and gives each a random edge
// or none.
func drawEdges(t *rapid.T) []workflow.Edge {
	targets := []string{"n0", "n1", "n2"}
	edges := []workflow.Edge{choice("all", "$.x", "0", "n0", "1", "n1", "2", "n2")}
	for _, from := range targets {
		switch rapid.IntRange(0, 4).Draw(t, "edge of "+from) {
		case 0:
		case 1:
			edges = append(edges, workflow.Edge{From: from, To: rapid.SampledFrom(targets).Draw(t, "to")})
		default:
			e := choice(from, drawPath(t))
			for _, v := range rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, -1, rapid.ID).Draw(t, "cases") {
				e.Switch.Cases = append(e.Switch.Cases, workflow.Case{Value: v, To: rapid.SampledFrom(targets).Draw(t, "to")})
			}
			edges = append(edges, e)
		}
	}
	return edges
}

func drawPath(t *rapid.T) string {
	head := rapid.SampledFrom(heads).Draw(t, "head")
	if head == "$result" {
		return head + "." + rapid.SampledFrom(fields).Draw(t, "field")
	}
	parts := rapid.SliceOfN(rapid.SampledFrom(keys), 1, 3).Draw(t, "path")
	return head + "." + strings.Join(parts, ".")
}

// drawResult returns a result and the same as a value for the model.
func drawResult(t *rapid.T) (workflow.Result, map[string]any) {
	r := workflow.Result{
		NodeID:     rapid.SampledFrom([]string{"all", "n0", "n1", "n2"}).Draw(t, "node"),
		Outcome:    rapid.SampledFrom([]workflow.Outcome{workflow.OK, workflow.OK, workflow.Failed, workflow.TimedOut, workflow.Cancelled}).Draw(t, "outcome"),
		StartedAt:  time.Unix(0, 0),
		DurationMs: 2,
	}
	record := map[string]any{
		"nodeId": r.NodeID, "outcome": string(r.Outcome), "durationMs": literal("2"), "startedAt": "1970-01-01T00:00:00.000Z",
	}
	if r.Outcome == workflow.OK {
		output := drawValue(t, 3)
		r.Output = json.RawMessage(write(output))
		record["output"] = output
	} else {
		r.Error = rapid.SampledFrom(texts).Draw(t, "error")
		if r.Error != "" {
			record["error"] = r.Error
		}
	}
	return r, record
}

func drawValue(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 4+min(depth, 1)*4).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.SampledFrom(slices.Sorted(maps.Keys(numbers))).Draw(t, "number")
	case 3, 4:
		return rapid.SampledFrom(texts).Draw(t, "text")
	case 5, 6:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom(keys), rapid.ID).Draw(t, "keys") {
			object[key] = drawValue(t, depth-1)
		}
		return object
	}
}

// write is the JSON text of a drawn value.
func write(value any) string {
	switch v := value.(type) {
	case literal:
		return string(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = write(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, write(key)+":"+write(v[key]))
		}
		return "{" + strings.Join(parts, " , ") + "}"
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(raw)
	}
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
