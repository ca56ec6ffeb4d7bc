package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/agent"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/canonical"
	"piworkflows/lease"
	"piworkflows/runbundle"
	"piworkflows/runqueue"
	"piworkflows/view"
	"piworkflows/workflow"
)

var someRef = controller.Ref{Controller: "echo", Key: "one"}

// Spec: command line, Exit codes.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code string
		exit int
	}{
		{nil, "", 0},
		{errors.New("anything"), "failed", 1},
		{&RunError{RunID: "r", Status: runbundle.Failed}, "run_failed", 1},
		{&UnfinishedError{}, "passes_failed", 1},
		{&UsageError{Command: "greeter", Reason: "wrong"}, "usage", 2},
		{&canonical.Error{Reason: "not JSON"}, "invalid_json", 2},
		{&controller.NameError{}, "invalid_name", 2},
		{&controller.SpecError{}, "invalid_spec", 2},
		{&controller.LimitError{}, "limit_exceeded", 2},
		{&workflow.InvalidError{Problems: []workflow.Problem{{}}}, "invalid_workflow", 2},
		{&host.ProjectError{}, "invalid_project", 2},
		{&agent.ScriptError{}, "invalid_script", 2},
		{&agent.UnusedError{}, "script_unused", 1},
		{&controller.NotFoundError{Ref: someRef}, "not_found", 3},
		{&controller.UnknownControllerError{}, "unknown_controller", 3},
		{&controller.UnknownWorkflowError{}, "unknown_workflow", 3},
		{&runqueue.NotFoundError{}, "run_not_found", 3},
		{fmt.Errorf("open: %w", fs.ErrNotExist), "file_not_found", 3},
		{&controller.ConflictError{}, "version_conflict", 4},
		{&controller.DeletingError{}, "being_deleted", 4},
		{&host.HeldError{}, "host_running", 4},
		{&lease.LostError{}, "claim_lost", 4},
		{&TimeoutError{}, "wait_timeout", 5},
		{ErrInterrupted, "interrupted", 130},
		{errors.Join(ErrInterrupted, &controller.NotFoundError{}), "interrupted", 130},
		{fmt.Errorf("wait: %w", context.Canceled), "interrupted", 130},
	} {
		wrapped := c.err
		if wrapped != nil {
			wrapped = fmt.Errorf("while doing something: %w", c.err)
			if got := codeOf(wrapped); got != c.code {
				t.Errorf("codeOf(%v) = %q, want %q", c.err, got, c.code)
			}
		}
		if got := exitCode(wrapped); got != c.exit {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.exit)
		}
	}
}

func TestErrorFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("x"), `{}`},
		{&controller.NotFoundError{Ref: someRef}, `{"controller":"echo","key":"one"}`},
		{&controller.DeletingError{Ref: someRef}, `{"controller":"echo","key":"one"}`},
		{&controller.ConflictError{Ref: someRef, Expected: 1, Current: 2}, `{"controller":"echo","key":"one","expected":1,"current":2}`},
		{&controller.LimitError{What: "spec", Limit: 1, Size: 2, Unit: "bytes"}, `{"what":"spec","limit":1,"size":2,"unit":"bytes"}`},
		{&controller.NameError{What: "key", Value: "", Rule: "r"}, `{"what":"key","value":"","rule":"r"}`},
		{
			&controller.SpecError{Controller: "echo", Problems: []controller.SpecProblem{{Pointer: "/x", Message: "m"}}},
			`{"controller":"echo","problems":[{"pointer":"/x","message":"m"}]}`,
		},
		{&controller.UnknownControllerError{Name: "n"}, `{"name":"n","known":[]}`},
		{&controller.UnknownWorkflowError{Name: "n", Known: []string{"w"}}, `{"name":"n","known":["w"]}`},
		{
			&workflow.InvalidError{Workflow: "w", Problems: []workflow.Problem{{Place: "startAt", Message: "m"}}},
			`{"workflow":"w","problems":[{"place":"startAt","message":"m"}]}`,
		},
		{
			&agent.ScriptError{Problems: []workflow.Problem{{Place: "/nodes", Message: "m"}}},
			`{"problems":[{"pointer":"/nodes","message":"m"}]}`,
		},
		{&agent.UnusedError{Left: map[string]int{"n": 2}}, `{"left":{"n":2}}`},
		{&canonical.Error{Pointer: "/a", Offset: 3}, `{"pointer":"/a","offset":3}`},
		{&host.HeldError{Lock: "l", Holder: "h"}, `{"lock":"l","holder":"h"}`},
		{&lease.LostError{What: "w", Reason: lease.Taken}, `{"what":"w","reason":"taken"}`},
		{&runqueue.NotFoundError{RunID: "r"}, `{"runId":"r"}`},
		{&view.StepError{RunID: "r", Step: 2, Steps: 1}, `{"runId":"r","step":2,"steps":1}`},
		{&NodeError{"r", "n"}, `{"node":"n","runId":"r"}`},
		{&RunError{RunID: "r", Status: runbundle.Failed, Code: "c"}, `{"runId":"r","status":"failed","runErrorCode":"c"}`},
		{&TimeoutError{For: "f", Last: "l", Timeout: time.Second}, `{"for":"f","last":"l","timeoutMs":1000}`},
		{
			&UnfinishedError{[]host.Pending{{Ref: someRef, Until: epoch, LastError: "e"}}},
			`{"failed":[{"controller":"echo","key":"one","until":"2027-01-05T08:15:00.000Z","lastError":"e"}]}`,
		},
	} {
		text, err := json.Marshal(errorFields(fmt.Errorf("wrapped: %w", c.err)))
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if string(text) == "null" {
			text = []byte("{}")
		}
		if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", c.err, diff)
		}
	}
}

func TestMessageIsOnePlainLine(t *testing.T) {
	t.Parallel()
	if got, want := message(errors.New("a\nb\x1b[31mc")), "a bc"; got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
	list := &workflow.InvalidError{Workflow: "w", Problems: []workflow.Problem{{Place: "a", Message: "1"}, {Place: "b", Message: "2"}}}
	if got := strings.Count(message(list), "\n"); got != 2 {
		t.Errorf("a list of two problems has %d line breaks, want 2", got)
	}
}

func TestWantsJSON(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"controllers":               false,
		"controllers -o json":       true,
		"-ojson x":                  true,
		"x --output=json --nothing": true,
		"x -o table":                false,
		"x --foo json":              false,
	} {
		if got := wantsJSON(strings.Fields(args)); got != want {
			t.Errorf("wantsJSON(%s) = %v", args, got)
		}
	}
}

func TestParseGoal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"deleted":                   "deleted",
		"condition=Ready":           "condition=Ready=true",
		"condition=Verified=False":  "condition=Verified=false",
		"condition=Ready=unknown":   "condition=Ready=unknown",
		"condition=":                "",
		"condition=Ready=maybe":     "",
		"condition=Ready=true=true": "",
		"Ready":                     "",
		"":                          "",
	} {
		g, err := parseGoal(text)
		if want == "" {
			if err == nil {
				t.Errorf("parseGoal(%q) took %v", text, g)
			}
			continue
		}
		if err != nil || g.String() != want {
			t.Errorf("parseGoal(%q) = %v, %v; want %s", text, g, err, want)
		}
	}
}
