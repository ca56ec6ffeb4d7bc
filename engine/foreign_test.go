package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// foreign reads bundles as a program does that knows nothing of this one: it
// passes over a bundle that lacks a field, has one of another type, or a value
// that it does not know. Spec: run bundle format, Reader requirements.
type foreign struct {
	t   *testing.T
	dir string
}

func (f foreign) open(name string) any {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		f.t.Fatalf("%s: %v", name, err)
	}
	return v
}

// read checks all files and returns the state.
func (f foreign) read() map[string]any {
	f.t.Helper()
	f.snapshot()
	m := f.check("manifest", f.open("manifest.json"), manifestShape)
	paths := f.check("paths", m["paths"], shape{"workflow": "string", "state": "string", "trace": "string", "artifacts": "string"})
	for name, path := range paths {
		if text, _ := path.(string); text == "" || strings.ContainsAny(text, `/\`) || strings.HasPrefix(text, ".") {
			f.t.Errorf("path of %s is %v", name, path)
		}
	}
	f.source(m["workflowSource"])
	s := f.check("state", f.open("state.json"), stateShape)
	for id, r := range s["results"].(map[string]any) {
		result := f.check("result of "+id, r, attemptShape.also("durationMs", "count", "output", "any?"))
		if _, has := result["output"]; has != (result["outcome"] == "ok") {
			f.t.Errorf("result of %s is %v and has an output: %v", id, result["outcome"], has)
		}
	}
	for i, v := range s["steps"].([]any) {
		step := f.check(fmt.Sprint("step ", i), v, attemptShape.also("prompt", "any", "output", "any", "action", "object?", "conversation", "object?"))
		if receipt, has := step["action"]; has {
			f.check(fmt.Sprint("receipt of step ", i), receipt, receiptShape)
		}
		if talk, has := step["conversation"]; has {
			f.check(fmt.Sprint("conversation of step ", i), talk, rangeShape)
		}
	}
	for i, u := range s["updates"].([]any) {
		f.check(fmt.Sprint("update ", i), u, updateShape)
	}
	f.sources(s["workflowSources"])
	f.settled(m, s, f.trace())
	return s
}

func (f foreign) source(v any) {
	f.t.Helper()
	if s := f.check("source", v, shape{"kind": "string", "id": "string", "revision": "string"}); s["kind"] != "builtin" {
		f.t.Errorf("source of an unknown kind: %v", s)
	}
}

func (f foreign) sources(v any) {
	f.t.Helper()
	list, _ := v.([]any)
	for _, mounted := range list {
		f.source(f.check("mounted source", mounted, shape{"mountPath": "strings", "workflowName": "string", "source": "object"})["source"])
	}
}

func (f foreign) snapshot() {
	f.t.Helper()
	w := f.check("workflow", f.open("workflow.json"), shape{
		"schema": "string", "name": "string", "startAt": "string", "nodes": "object", "edges": "array", "composition": "object",
	})
	nodes, _ := w["nodes"].(map[string]any)
	for id, n := range nodes {
		f.check("node "+id, n, nodeShape)
	}
	for _, m := range f.check("composition", w["composition"], shape{"mounts": "array"})["mounts"].([]any) {
		mount := f.check("mount", m, mountShape)
		if _, there := nodes[mount["entryNode"].(string)]; !there {
			f.t.Errorf("mount enters at %v", mount["entryNode"])
		}
	}
}

// trace returns the number of lines.
func (f foreign) trace() (lines int) {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "trace.ndjson"))
	if err != nil {
		f.t.Fatal(err)
	}
	var order attempts
	for line := range strings.Lines(string(text)) {
		lines++
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil || line[len(line)-1] != '\n' {
			f.t.Fatalf("line %d: %q, %v", lines, line, err)
		}
		e := f.check(fmt.Sprint("event ", lines), v, eventShape)
		within := e["scope"] == "node" || e["scope"] == "agent"
		if _, has := e["attemptId"]; e["seq"] != float64(lines) || has != within {
			f.t.Errorf("event %d: %v", lines, e)
		}
		if problem := order.add(e["type"].(string), fmt.Sprint(e["attemptId"])); problem != "" {
			f.t.Errorf("event %d, %v: %s", lines, e["type"], problem)
		}
	}
	return lines
}

// attempts follow the order of the events. Spec: run bundle format, trace.ndjson.
type attempts struct {
	begun []string
	// now is the attempt that works, ended that the run did.
	now   string
	ended bool
}

// add returns what is wrong with an event after those before it.
func (a *attempts) add(kind, attempt string) string {
	if a.ended {
		return "something follows the end of the run"
	}
	switch kind {
	case "node_started":
		if a.now != "" || slices.Contains(a.begun, attempt) {
			return "an attempt begins twice, or within another one"
		}
		a.begun, a.now = append(a.begun, attempt), attempt
	case "agent_prompt_sent", "update_published":
		if attempt != a.now {
			return "it is of no attempt that works"
		}
	case "node_finished", "node_failed":
		if attempt != a.now {
			return "it ends no attempt that works"
		}
		a.now = ""
	case "include_entered", "include_exited", "run_paused":
		if a.now != "" {
			return "an attempt works"
		}
	case "run_resumed": // what worked before it has no end
		a.now = ""
	case "run_completed", "run_waiting", "run_failed", "run_timed_out", "run_cancelled", "run_interrupted":
		a.ended = true
		if a.now != "" && kind != "run_interrupted" {
			return "an attempt has no end"
		}
	}
	return ""
}

// settled checks that a run that ended looks so to who waits for it, and that one
// that goes on does not.
func (f foreign) settled(m, s map[string]any, lines int) {
	f.t.Helper()
	ended := s["status"] != "running"
	if m["status"] != s["status"] || m["runId"] != s["runId"] || m["startedAt"] != s["startedAt"] {
		f.t.Errorf("manifest %v, state %v", m["status"], s["status"])
	}
	if seq, _ := s["traceSeq"].(float64); int(seq) > lines || ended && int(seq) != lines {
		f.t.Errorf("%v: traceSeq %v of %d lines", s["status"], seq, lines)
	}
	for _, doc := range []map[string]any{m, s} {
		if _, has := doc["finishedAt"]; has != ended {
			f.t.Errorf("status %v, finished: %v", doc["status"], has)
		}
	}
	for field, on := range map[string][]string{
		"finalOutput": {"completed", "waiting"}, "waitingOn": {"waiting"}, "error": {"failed", "timed_out", "cancelled"},
	} {
		if _, has := s[field]; has != slices.Contains(on, s["status"].(string)) {
			f.t.Errorf("status %v, %s: %v", s["status"], field, has)
		}
	}
}
