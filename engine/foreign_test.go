package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

// foreign reads bundles as a program does that knows nothing of this one: it
// passes over a bundle that lacks a field, has one of another type, or a value
// that it does not know. Spec: run bundle format, Reader requirements.
type foreign struct {
	t   *testing.T
	dir string
}

// shape is what an object must have: its fields, each with its kind; one that may
// be missing has a question mark.
type shape map[string]string

var (
	aTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

	statuses  = []string{"running", "waiting", "completed", "failed", "timed_out", "cancelled"}
	outcomes  = []string{"ok", "failed", "timed_out", "cancelled"}
	nodeKinds = []string{"agent", "compute", "notify", "action", "checkpoint"}

	attemptShape = shape{
		"attemptId": "string", "nodeId": "string", "nodeType": "nodeType", "outcome": "outcome", "startedAt": "time", "finishedAt": "time",
		"error": "string?",
	}
	manifestShape = shape{
		"schema": "string", "runId": "string", "workflowName": "string", "runTitle": "string?", "startedAt": "time", "finishedAt": "time?",
		"status": "status", "traceSchema": "string", "workflowSource": "object?", "workflowSources": "array?", "definitionDigest": "string?",
		"paths": "object",
	}
	stateShape = shape{
		"schema": "string", "traceSeq": "count", "runId": "string", "workflowName": "string", "startedAt": "time", "updatedAt": "time",
		"finishedAt": "time?", "status": "status", "input": "any", "outputs": "object", "results": "object", "steps": "array", "updates": "array",
		"paused": "true?", "currentNode": "string?", "currentAttemptId": "string?", "currentNodeStartedAt": "time?", "statusDetail": "string?",
		"waitingOn": "string?", "finalOutput": "any?", "error": "string?", "parentRunId": "string?", "carriedStepCount": "count?",
	}
	receiptShape = shape{
		"actionType": "string", "command": "string?", "args": "strings?", "cwd": "string?", "exitCode": "any?", "signal": "any?", "durationMs": "count?",
	}
	updateShape = shape{
		"updateId": "string", "seq": "count", "at": "time", "runId": "string", "nodeId": "string", "attemptId": "string", "type": "string",
		"key": "string", "data": "object",
	}
	nodeShape = shape{
		"nodeType": "nodeType", "mountPath": "strings?", "localNodeId": "string?", "includeTransition": "string?", "timeoutMs": "any?",
		"statusDetail": "string?", "expectedOutput": "string?", "summary": "string?", "actionExecution": "string?",
	}
	mountShape = shape{"mountPath": "strings", "workflowName": "string", "entryNode": "string", "exits": "object", "maxSteps": "count?"}
	eventShape = shape{
		"seq": "count", "at": "time", "runId": "string", "scope": "string", "type": "string", "payload": "object", "nodeId": "string?",
		"attemptId": "string?",
	}
	rangeShape = shape{"firstEntryId": "string", "lastEntryId": "string"}
)

// fits reports whether a value is of a kind.
func fits(kind string, v any) bool {
	text, isText := v.(string)
	number, isNumber := v.(float64)
	list, isList := v.([]any)
	_, isObject := v.(map[string]any)
	switch kind {
	case "any":
		return true
	case "string":
		return isText
	case "time":
		return aTime.MatchString(text)
	case "count":
		return isNumber && number >= 0 && number == float64(int64(number))
	case "true":
		return v == true
	case "object":
		return isObject
	case "array":
		return isList
	case "strings":
		return isList && !slices.ContainsFunc(list, func(v any) bool { _, is := v.(string); return !is })
	case "status":
		return slices.Contains(statuses, text)
	case "outcome":
		return slices.Contains(outcomes, text)
	case "nodeType":
		return slices.Contains(nodeKinds, text)
	}
	return false
}

func (f foreign) check(what string, v any, want shape) map[string]any {
	f.t.Helper()
	doc, isObject := v.(map[string]any)
	if !isObject {
		f.t.Errorf("%s is %v", what, v)
	}
	for field, kind := range want {
		kind, optional := strings.CutSuffix(kind, "?")
		value, there := doc[field]
		if !there && !optional || there && !fits(kind, value) {
			f.t.Errorf("%s: %s is %v, want a %s", what, field, value, kind)
		}
	}
	return doc
}

// also is a shape with more fields.
func (s shape) also(more ...string) shape {
	all := maps.Clone(s)
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
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
	}
	return lines
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

// Every kind of run opens in readers that were written for the format.
func TestBundlesOpenInForeignReaders(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 2000)
	ends := func(run workflow.Func) func(*rig) engine.Result {
		return func(r *rig) engine.Result { result, _ := r.run(flow(compute("a", run))); return result }
	}
	stops := func(at runbundle.EventType, stop func(*engine.Run)) func(*rig) engine.Result {
		return func(r *rig) engine.Result {
			r.at(at, 2, stop)
			return r.begin(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil)), compute("c", gives(3, nil)))).Wait()
		}
	}
	tests := map[string]struct {
		run    func(r *rig) engine.Result
		status runbundle.Status
	}{
		"every kind of node": {func(r *rig) engine.Result {
			result, _ := r.run(tour(t, r, func(string) {}))
			return result
		}, runbundle.Waiting},
		"a continuation": {func(r *rig) engine.Result {
			r.run(asking())
			result, _ := r.finish(r.answer(asking(), `"yes"`))
			return result
		}, runbundle.Completed},
		"loops in loops": {func(r *rig) engine.Result {
			result, _ := r.run(workshop(mending(inspection())))
			return result
		}, runbundle.Completed},
		"updates": {func(r *rig) engine.Result {
			result, _ := r.run(flow(acts(func(ctx context.Context, c *workflow.Context) error {
				_, err := c.Publish(ctx, note("a", 1))
				return err
			})))
			return result
		}, runbundle.Completed},
		"long texts":      {ends(gives(map[string]string{"text": long, "$artifact": "mine"}, nil)), runbundle.Completed},
		"a long failure":  {ends(gives(nil, errors.New(long))), runbundle.Failed},
		"a timeout":       {ends(gives(nil, &engine.TimeoutError{})), runbundle.TimedOut},
		"a cancellation":  {stops(runbundle.EventNodeStarted, (*engine.Run).Cancel), runbundle.Cancelled},
		"an interruption": {stops(runbundle.EventNodeStarted, func(r *engine.Run) { r.Interrupt("stop") }), runbundle.Failed},
		"parked":          {stops(runbundle.EventNodeStarted, (*engine.Run).Park), runbundle.Running},
		"parked while held": {func(r *rig) engine.Result {
			r.at(runbundle.EventNodeStarted, 1, (*engine.Run).Pause)
			r.at(runbundle.EventRunPaused, 1, (*engine.Run).Park)
			return r.begin(flow(compute("a", gives(1, nil)), compute("b", gives(2, nil)))).Wait()
		}, runbundle.Running},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			result := test.run(r)
			if result.Status != test.status {
				t.Fatalf("the run is %+v", result)
			}
			s := foreign{t, filepath.Join(r.options.RunsDir, result.RunID)}.read()
			if s["status"] != string(test.status) {
				t.Errorf("read as %v", s["status"])
			}
		})
	}
}
