package runbundle_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piworkflows/clock/clocktest"
	"piworkflows/runbundle"
)

// fresh is a state.json that has no event folded in.
const fresh = `{"schema":"pi-workflows.run-state.v1","traceSeq":0,"runId":"` + runID + `","workflowName":"greet",` +
	`"startedAt":"2027-01-05T08:15:00.000Z","updatedAt":"2027-01-05T08:15:00.000Z","status":"running","input":null,` +
	`"outputs":{},"results":{},"steps":[],"updates":[]}`

func goldenFile(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// laid writes a bundle of these files.
func laid(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), runID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// readsOrTells reads a bundle, which works or gives an error of a known type.
func readsOrTells(t *testing.T, dir string) *runbundle.Bundle {
	t.Helper()
	b, err := runbundle.Read(dir)
	var corrupt *runbundle.CorruptError
	var unknown *runbundle.UnknownSchemaError
	if err != nil && !errors.As(err, &corrupt) && !errors.As(err, &unknown) {
		t.Fatalf("an error of no known type: %v (%T)", err, err)
	}
	return b
}

// FuzzTrace reads a trace of any content. What can be read can be ended by the
// next owner, and keeps its events.
func FuzzTrace(f *testing.F) {
	whole := goldenFile(f, "trace.ndjson")
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	for _, line := range strings.SplitAfter(string(whole), "\n")[:3] {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"seq":1,"at":"2027-01-05T08:15:00.121Z","runId":"x","scope":"run","type":"run_started","payload":null}` + "\n"))
	f.Add([]byte("\x00\n{}\n"))
	f.Add([]byte(`{"seq":1e99}` + "\n"))
	manifest := []byte(strings.Replace(string(goldenFile(f, "manifest.json")), `"status": "completed"`, `"status": "running"`, 1))
	workflow := goldenFile(f, "workflow.json")
	f.Fuzz(func(t *testing.T, trace []byte) {
		dir := laid(t, map[string][]byte{
			"manifest.json": manifest, "workflow.json": workflow, "state.json": []byte(fresh), "trace.ndjson": trace,
		})
		before := readsOrTells(t, dir)
		if before == nil {
			return
		}
		if before.State.TraceSeq != int64(len(before.Events)) {
			t.Fatalf("the state is at event %d of %d", before.State.TraceSeq, len(before.Events))
		}
		if _, err := runbundle.MarkInterrupted(t.Context(), runbundle.Options{Clock: clocktest.New()}, dir, "fuzz"); err != nil {
			t.Fatalf("what can be read cannot be ended: %v", err)
		}
		after := readsOrTells(t, dir)
		if after == nil || len(after.Events) < len(before.Events) || !after.State.Status.Terminal() {
			t.Fatalf("after its end it is %+v", after)
		}
	})
}

// FuzzSnapshot reads a state, a manifest and a definition of any content.
func FuzzSnapshot(f *testing.F) {
	names := []string{"state.json", "manifest.json", "workflow.json"}
	for i, name := range names {
		f.Add(i, goldenFile(f, name))
	}
	f.Add(0, []byte(fresh))
	f.Add(0, []byte(`{"schema":"pi-workflows.run-state.v1","steps":[{"output":{"$artifact":{"path":"../../etc/passwd"}}}]}`))
	f.Add(1, []byte(`{"schema":"pi-workflows.run-manifest.v9"}`))
	f.Add(2, []byte(`null`))
	golden := map[string][]byte{"trace.ndjson": goldenFile(f, "trace.ndjson")}
	for _, name := range names {
		golden[name] = goldenFile(f, name)
	}
	f.Fuzz(func(t *testing.T, which int, text []byte) {
		files := maps.Clone(golden)
		files[names[((which%len(names))+len(names))%len(names)]] = text
		readsOrTells(t, laid(t, files))
	})
}
