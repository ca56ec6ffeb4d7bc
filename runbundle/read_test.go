package runbundle_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/runbundle"
)

// settled writes a whole run and returns where it lies.
func settled(t *testing.T) *bundle {
	t.Helper()
	b := newBundle(t)
	w := b.create(t)
	w.tell(story())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b
}

// copied returns a copy of the folder of bundles.
func (b *bundle) copied(t *testing.T) *bundle {
	t.Helper()
	c := &bundle{clock: b.clock, root: filepath.Join(t.TempDir(), "runs"), options: b.options}
	if err := os.CopyFS(c.root, os.DirFS(b.root)); err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *bundle) edit(t *testing.T, name, old, replacement string) {
	t.Helper()
	raw, err := os.ReadFile(b.file(name))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(raw), old, replacement, 1)
	if edited == string(raw) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(b.file(name), []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadPutsLongTextsInPlace(t *testing.T) {
	t.Parallel()
	read := settled(t).read(t)
	s := read.State
	if got, want := string(s.Outputs["pick"]), `{"route":"a","text":"`+long("o")+`"}`; got != want {
		t.Errorf("output = %.100s", got)
	}
	if got, want := string(s.Steps[0].Prompt), `"Choose.\n`+long("p")+`"`; got != want {
		t.Errorf("prompt = %.100s", got)
	}
	if got := s.Steps[1].Error; got != long("e") {
		t.Errorf("error = %.100s", got)
	}
	for _, value := range []json.RawMessage{s.Outputs["10"], s.Results["10"].Output, s.Steps[4].Output, s.FinalOutput} {
		if string(value) != `{"$artifact":"mine"}` {
			t.Errorf("value = %s", value)
		}
	}
	p, err := read.Events[8].Decode() // run_started comes before the story
	if err != nil || p.Type() != runbundle.EventNodeStarted {
		t.Fatalf("event 9 is %v, %v", p, err)
	}
	p, err = read.Events[9].Decode()
	if ended, isEnd := p.(runbundle.NodeEnded); err != nil || !isEnd || ended.Error != long("e") || *ended.Action.ExitCode != 2 {
		t.Errorf("event 10 is %v, %v", p, err)
	}
}

// TestReaderChecklist looks at the files as a reader of the format does, which
// knows nothing of this package. Spec: run bundle format, Reader requirements.
func TestReaderChecklist(t *testing.T) {
	t.Parallel()
	b := settled(t)
	open := func(name string) map[string]any {
		raw, err := os.ReadFile(b.file(name))
		if err != nil {
			t.Fatal(err)
		}
		if raw[len(raw)-1] != '\n' {
			t.Errorf("%s has no newline at its end", name)
		}
		var doc map[string]any
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	require := func(what string, doc map[string]any, keys ...string) {
		for _, key := range keys {
			if _, ok := doc[key]; !ok {
				t.Errorf("%s has no %s", what, key)
			}
		}
	}
	m := open("manifest.json")
	require("manifest", m, "schema", "runId", "workflowName", "startedAt", "finishedAt", "status", "traceSchema", "paths")
	require("paths", m["paths"].(map[string]any), "workflow", "state", "trace", "artifacts")
	require("source", m["workflowSource"].(map[string]any), "kind", "id", "revision")
	s := open("state.json")
	require("state", s, "schema", "traceSeq", "runId", "workflowName", "startedAt", "updatedAt", "status", "input",
		"outputs", "results", "steps", "updates", "finishedAt", "finalOutput")
	attempt := []string{"attemptId", "nodeId", "nodeType", "outcome", "startedAt", "finishedAt"}
	for _, result := range s["results"].(map[string]any) {
		require("result", result.(map[string]any), append(attempt, "durationMs")...)
		if r := result.(map[string]any); r["outcome"] != "ok" {
			if _, ok := r["output"]; ok {
				t.Errorf("result of a failed attempt has an output: %v", r)
			}
		}
	}
	for _, step := range s["steps"].([]any) {
		require("step", step.(map[string]any), append(attempt, "prompt", "output")...)
	}
	w := open("workflow.json")
	require("workflow", w, "schema", "name", "startAt", "nodes", "edges", "composition")

	raw, err := os.ReadFile(b.file("trace.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if float64(len(lines)) != s["traceSeq"] {
		t.Errorf("%d lines, traceSeq %v", len(lines), s["traceSeq"])
	}
	for i, line := range lines {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		require("event", e, "seq", "at", "runId", "scope", "type", "payload")
		if e["seq"] != float64(i+1) {
			t.Errorf("line %d is event %v", i+1, e["seq"])
		}
		if e["scope"] != "run" {
			require("event of a node", e, "nodeId", "attemptId")
		}
	}
	times := regexp.MustCompile(`"[^"]*(?:At|at)": ?"([^"]*)"`)
	shape := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	for _, name := range []string{"manifest.json", "state.json", "trace.ndjson"} {
		raw, err := os.ReadFile(b.file(name))
		if err != nil {
			t.Fatal(err)
		}
		found := times.FindAllStringSubmatch(string(raw), -1)
		if len(found) == 0 {
			t.Errorf("%s has no times", name)
		}
		for _, text := range found {
			if text[1] != "pick" && !shape.MatchString(text[1]) { // startAt is a node
				t.Errorf("%s has the time %q", name, text[1])
			}
		}
	}
}

// The order of keys in the snapshot decides how other readers draw the graph.
func TestSnapshotKeepsItsOrder(t *testing.T) {
	t.Parallel()
	read := settled(t).read(t)
	var compact json.RawMessage
	compact, err := json.Marshal(read.Workflow) // compacts and keeps the order
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(snapshot, string(compact)); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefusesBrokenFiles(t *testing.T) {
	t.Parallel()
	type damage = func(t *testing.T, b *bundle)
	edit := func(name, old, replacement string) damage {
		return func(t *testing.T, b *bundle) { t.Helper(); b.edit(t, name, old, replacement) }
	}
	remove := func(name string) damage {
		return func(t *testing.T, b *bundle) {
			t.Helper()
			if err := os.Remove(b.file(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name, file string
		line       int
		do         damage
	}{
		{"manifest no JSON", "manifest.json", 0, edit("manifest.json", "{", "[")},
		{"manifest without a start", "manifest.json", 0, edit("manifest.json", "startedAt", "started")},
		{"manifest with a bad time", "manifest.json", 0, edit("manifest.json", `"startedAt": "2027`, `"startedAt": "27`)},
		{"manifest with a bad run ID", "manifest.json", 0, edit("manifest.json", runID, "../x")},
		{"manifest with an unknown status", "manifest.json", 0, edit("manifest.json", `"completed"`, `"done"`)},
		{"manifest of another trace", "manifest.json", 0, edit("manifest.json", "trace-event.v1", "trace-event.v2")},
		{"no snapshot", "workflow.json", 0, remove("workflow.json")},
		{"no state", "state.json", 0, remove("state.json")},
		{"no trace", "trace.ndjson", 0, remove("trace.ndjson")},
		{"state cut off", "state.json", 0, edit("state.json", "\n}\n", "")},
		{"state without steps", "state.json", 0, edit("state.json", `"steps"`, `"step"`)},
		{"state without results", "state.json", 0, edit("state.json", `"results"`, `"result"`)},
		{"state with an unknown outcome", "state.json", 0, edit("state.json", `"outcome": "ok"`, `"outcome": "fine"`)},
		{"state with a bad step", "state.json", 0, edit("state.json", `"nodeId": "pick"`, `"nodeId": 7`)},
		{"state without its artifact", "state.json", 0, func(t *testing.T, b *bundle) {
			t.Helper()
			if err := os.RemoveAll(b.file("artifacts")); err != nil {
				t.Fatal(err)
			}
		}},
		{"state ahead of the trace", "trace.ndjson", 0, edit("state.json", `"traceSeq": 17`, `"traceSeq": 18`)},
		{"line no JSON", "trace.ndjson", 3, edit("trace.ndjson", `{"seq":3,`, `{"seq":3;`)},
		{"line out of order", "trace.ndjson", 3, edit("trace.ndjson", `{"seq":3,`, `{"seq":4,`)},
		{"line of another run", "trace.ndjson", 1, edit("trace.ndjson", runID, "other")},
		{"payload no object", "trace.ndjson", 7, edit("trace.ndjson", `"payload":{}`, `"payload":[]`)},
		{"line too long", "trace.ndjson", 1, edit("trace.ndjson", `"workflowName"`, `"x":"`+strings.Repeat("x", 16<<20)+`","workflowName"`)},
		{"a pipe", "state.json", 0, func(t *testing.T, b *bundle) {
			t.Helper()
			remove("state.json")(t, b)
			if err := os.Mkdir(b.file("state.json"), 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"a link out of the bundle", "state.json", 0, func(t *testing.T, b *bundle) {
			t.Helper()
			outside := filepath.Join(b.root, "state")
			if err := errors.Join(os.Rename(b.file("state.json"), outside), os.Symlink(outside, b.file("state.json"))); err != nil {
				t.Fatal(err)
			}
		}},
	}
	whole := settled(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := whole.copied(t)
			test.do(t, b)
			_, err := runbundle.Read(b.dir())
			corrupt := wantErr[*runbundle.CorruptError](t, err)
			if errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a broken bundle looks like none: %v", err)
			}
			if corrupt.Path != b.file(test.file) || corrupt.Line != test.line {
				t.Errorf("place %s, line %d: %v", corrupt.Path, corrupt.Line, err)
			}
		})
	}
}

func TestReadRefusesUnknownSchemas(t *testing.T) {
	t.Parallel()
	whole := settled(t)
	for _, name := range []string{"manifest.json", "state.json", "workflow.json"} {
		b := whole.copied(t)
		b.edit(t, name, `.v1"`, `.v9"`)
		_, err := runbundle.Read(b.dir())
		unknown := wantErr[*runbundle.UnknownSchemaError](t, err)
		if unknown.Path != b.file(name) || !strings.HasSuffix(unknown.Schema, ".v9") || !strings.HasSuffix(unknown.Want, ".v1") {
			t.Errorf("%+v", unknown)
		}
	}
}

func TestReadOfNoBundle(t *testing.T) {
	t.Parallel()
	b := settled(t)
	if err := os.Remove(b.file("manifest.json")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{b.dir(), filepath.Join(b.root, "missing")} {
		if _, err := runbundle.Read(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	link := filepath.Join(b.root, "link")
	if err := os.Symlink(b.dir(), link); err != nil {
		t.Fatal(err)
	}
	_, err := runbundle.Read(link)
	wantErr[*runbundle.CorruptError](t, err)
}

// A reader that comes while a line is written sees the run before it.
func TestReadLeavesATornLineOut(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	w.add(b.init().Started())
	before := b.read(t)
	w.add(node("a", 1, runbundle.NodeStarted{NodeType: "compute"}))
	raw, err := os.ReadFile(b.file("trace.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.file("trace.ndjson"), raw[:len(raw)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	read := b.read(t)
	if !read.Torn || len(read.Events) != 1 {
		t.Fatalf("torn %v, %d events", read.Torn, len(read.Events))
	}
	sameState(t, "state before the torn line", before.State, read.State)
}

func TestList(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	add := func(id string, seconds int64ms) {
		i := b.init()
		i.RunID, i.StartedAt = id, i.StartedAt.Add(seconds.duration()*1000)
		w, err := runbundle.Create(t.Context(), b.options, b.root, i)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if runs, broken, err := runbundle.List(b.root); err != nil || len(runs)+len(broken) != 0 {
		t.Fatalf("a missing folder has %v, %v, %v", runs, broken, err)
	}
	add("old", 1)
	add("new-b", 3)
	add("new-a", 3)
	add("broken", 4)
	add("unfinished", 5)
	if err := errors.Join(
		os.WriteFile(filepath.Join(b.root, "broken", "manifest.json"), []byte("{}"), 0o600),
		os.Remove(filepath.Join(b.root, "unfinished", "manifest.json")),
		os.WriteFile(filepath.Join(b.root, "a file"), nil, 0o600),
		os.Symlink(filepath.Join(b.root, "old"), filepath.Join(b.root, "a-link")),
	); err != nil {
		t.Fatal(err)
	}
	runs, broken, err := runbundle.List(b.root)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range runs {
		ids = append(ids, m.RunID)
	}
	if diff := cmp.Diff([]string{"new-a", "new-b", "old"}, ids); diff != "" {
		t.Error(diff)
	}
	if len(broken) != 1 {
		t.Fatalf("broken: %v", broken)
	}
	wantErr[*runbundle.UnknownSchemaError](t, broken[0])
	if _, _, err := runbundle.List(filepath.Join(b.root, "a file")); err == nil {
		t.Error("a file was listed")
	}
}

// state.json is indented for people; values come back as they were given.
func TestValuesComeBackWithoutIndent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.create(t)
	w.tell([]runbundle.Draft{
		node("a", 1, runbundle.NodeStarted{NodeType: "compute"}), node("a", 1, ok(`{"b":[1,{"c":"d"}]}`)),
		run(runbundle.RunEnded{Status: runbundle.Completed, FinalOutput: json.RawMessage(`[1,2]`)}),
	})
	s := b.read(t).State
	for _, value := range []json.RawMessage{s.Outputs["a"], s.Results["a"].Output, s.Steps[0].Output} {
		if string(value) != `{"b":[1,{"c":"d"}]}` {
			t.Errorf("value %s", value)
		}
	}
	if string(s.FinalOutput) != `[1,2]` {
		t.Errorf("final output %s", s.FinalOutput)
	}
}

// Bundles of other writers may lack what came later to the format, and have
// values, files and events that this program does not write.
func TestReadOfAForeignBundle(t *testing.T) {
	t.Parallel()
	b := settled(t)
	b.edit(t, "state.json", `"updates"`, `"unknownField"`)
	b.edit(t, "state.json", `"$artifact": "mine"`, `"$artifact": "mine", "b": {"$escaped": [ {"$escaped": 1} ]}`)
	b.edit(t, "manifest.json", `"artifacts": "artifacts"`, `"session": "session", "artifacts": "artifacts"`)
	read := b.read(t)
	if read.State.Updates == nil || read.Manifest.Paths.Session != "session" {
		t.Errorf("updates %v, session %q", read.State.Updates, read.Manifest.Paths.Session)
	}
	if got := string(read.State.Outputs["10"]); got != `{"$artifact":"mine","b":[1]}` {
		t.Errorf("output %s", got)
	}
}
