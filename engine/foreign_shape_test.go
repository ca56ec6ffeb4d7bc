package engine_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

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
