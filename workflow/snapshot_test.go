package workflow_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/workflow"
)

var update = flag.Bool("update", false, "write the golden files")

// everyKind has each node type with every recorded field, and each edge.
func everyKind() *workflow.Definition {
	asked := func(context.Context, *workflow.Context) (time.Duration, error) { return 0, nil }
	return &workflow.Definition{
		Name:       "every <kind> & more",
		Revision:   "3",
		ContractID: "demo.v1",
		StartAt:    "zeta",
		MaxSteps:   12,
		Nodes: []workflow.Node{
			workflow.Compute{ID: "zeta", Run: run},
			workflow.Agent{ID: "agent", Prompt: text, ExpectedOutput: `{"route": "a" | "b"}`, StatusDetail: "thinking"},
			workflow.Action{ID: "act", Run: run, Limits: workflow.Limits{Timeout: workflow.NoTimeout}},
			workflow.Shell{ID: "shell", Exec: command, Limits: workflow.Limits{Timeout: time.Minute}},
			workflow.Notify{ID: "tell", Message: text, Limits: workflow.Limits{Timeout: 1500 * time.Microsecond}},
			workflow.Notify{ID: "told", Message: text, Kind: "final", Limits: workflow.Limits{Timeout: time.Second, TimeoutFunc: asked}},
			workflow.Checkpoint{ID: "alpha", Summary: "Merge?\u2028"},
			workflow.Checkpoint{ID: "plain"},
		},
		Edges: []workflow.Edge{
			{From: "zeta", To: "agent"},
			choice("agent", "$.route", "b", "act", "a", "shell", "10", "plain", "2", "plain"),
			choice("shell", "$result.outcome", "ok", "tell", "failed", "told"),
			{From: "act", To: "alpha"},
		},
	}
}

func TestSnapshotGolden(t *testing.T) {
	t.Parallel()
	wantGolden(t, "snapshot.json", everyKind())
}

// wantGolden fails unless the snapshot is that of the golden file.
func wantGolden(t *testing.T, name string, d *workflow.Definition) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, compile(t, d).Snapshot(), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestSnapshotIsCompact(t *testing.T) {
	t.Parallel()
	got := string(compile(t, chain("a", "b")).Snapshot())
	want := `{"schema":"pi-workflows.definition-snapshot.v1","name":"chain","startAt":"a",` +
		`"nodes":{"a":{"nodeType":"compute"},"b":{"nodeType":"compute"}},` +
		`"edges":[{"from":"a","to":"b"}],"composition":{"mounts":[]}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestSnapshotWithoutEdges(t *testing.T) {
	t.Parallel()
	got := string(compile(t, chain("a")).Snapshot())
	want := `{"schema":"pi-workflows.definition-snapshot.v1","name":"chain","startAt":"a",` +
		`"nodes":{"a":{"nodeType":"compute"}},"edges":[],"composition":{"mounts":[]}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestDigestIsOfTheSnapshot(t *testing.T) {
	t.Parallel()
	g := compile(t, everyKind())
	sum := sha256.Sum256(g.Snapshot())
	if want := "sha256:" + hex.EncodeToString(sum[:]); g.Digest() != want {
		t.Errorf("Digest = %s, want %s", g.Digest(), want)
	}
}

// A digest that moves by itself would orphan every recorded run, so one is
// written down here.
func TestDigestIsStable(t *testing.T) {
	t.Parallel()
	const want = "sha256:a3c3480e021af2e1eb347b641e841a7c61d80b9307c3bf388ecf8da7bdd4ac4d"
	for range 20 {
		if got := compile(t, everyKind()).Digest(); got != want {
			t.Fatalf("Digest = %s, want %s", got, want)
		}
	}
}

func TestDigestChangesWithTheShapeOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(d *workflow.Definition)
		same   bool
	}{
		"revision":        {func(d *workflow.Definition) { d.Revision = "4" }, true},
		"step limit":      {func(d *workflow.Definition) { d.MaxSteps = 13 }, true},
		"name":            {func(d *workflow.Definition) { d.Name = "other" }, false},
		"contract":        {func(d *workflow.Definition) { d.ContractID = "" }, false},
		"order of nodes":  {func(d *workflow.Definition) { d.Nodes[1], d.Nodes[2] = d.Nodes[2], d.Nodes[1] }, false},
		"order of edges":  {func(d *workflow.Definition) { d.Edges[2], d.Edges[3] = d.Edges[3], d.Edges[2] }, false},
		"order of cases":  {func(d *workflow.Definition) { c := d.Edges[1].Switch.Cases; c[0], c[1] = c[1], c[0] }, false},
		"target":          {func(d *workflow.Definition) { d.Edges[1].Switch.Cases[3].To = "act" }, false},
		"timeout":         {func(d *workflow.Definition) { d.Nodes[2] = workflow.Action{ID: "act", Run: run} }, false},
		"kind of action":  {func(d *workflow.Definition) { d.Nodes[2] = workflow.Shell{ID: "act", Exec: command} }, false},
		"expected output": {func(d *workflow.Definition) { d.Nodes[1] = workflow.Agent{ID: "agent", Prompt: text} }, false},
	}
	before := compile(t, everyKind()).Digest()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := everyKind()
			test.change(d)
			if got := compile(t, d).Digest(); (got == before) != test.same {
				t.Errorf("digest is the same: %v, want %v", got == before, test.same)
			}
		})
	}
}
