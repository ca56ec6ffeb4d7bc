package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/engine"
	"piworkflows/host"
	"piworkflows/runbundle"
	"piworkflows/view"
)

var update = flag.Bool("update", false, "write the golden files and the examples in docs/cli-json.md anew")

var epoch = clocktest.Epoch

// screen is an App over buffers, whose clock stands at epoch.
func screen(args ...string) (a *App, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	a = New(Options{
		Definitions: testDefinitions(), Version: "v1.2.3", Stdout: out, Stderr: errs, Stdin: strings.NewReader(""),
		Clock: clocktest.New(), Getenv: screenEnv, Actor: "ada@engine",
	})
	a.flags.output = outputTable
	for _, arg := range args {
		a.flags.output = arg
	}
	return a, out, errs
}

// screenEnv makes a buffer as wide as a terminal.
func screenEnv(name string) string {
	if name == "COLUMNS" {
		return strconv.Itoa(view.DefaultWidth)
	}
	return ""
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	for line := range strings.Lines(got) {
		if w := view.Width(strings.TrimRight(line, "\n")); w > view.DefaultWidth {
			t.Errorf("%s: line of %d cells: %q", name, w, line)
		}
	}
}

// The records that screens and JSON examples are made of.

const (
	someUID  = "01a2e4e5-dfc0-7000-8000-000000000001" // made five minutes before epoch
	someRun  = "20270105T081412Z-verify-branch-0a1b2c3d"
	otherRun = "20270105T081500Z-greet-4e5f6a7b"
)

func ago(d time.Duration) time.Time { return epoch.Add(-d) }

func in(d time.Duration) *time.Time {
	t := epoch.Add(d)
	return &t
}

func someSources() []sourceLine {
	lines := []sourceLine{
		sourceOf(controller.SourceStatus{
			SourceInfo: controller.SourceInfo{Controller: "git-merge", Source: "branches"},
			State:      controller.SourceDegraded, Since: ago(time.Hour), Reason: "no watches are left: the folder is read every minute",
			SourceCounters: controller.SourceCounters{Deliveries: 41, Enqueued: 57, Unknown: 3},
			LastSeenAt:     in(-3 * time.Second),
		}),
		sourceOf(controller.SourceStatus{
			SourceInfo: controller.SourceInfo{Controller: "git-merge", Source: "github"},
			State:      controller.SourceRestarting, Since: ago(time.Second), NextAt: in(time.Second),
			SourceCounters: controller.SourceCounters{Deliveries: 2000, Duplicates: 1000, Enqueued: 2000, Refused: 30, Errors: 1, Restarts: 1},
			LastSeenAt:     in(-2 * time.Minute),
			LastError:      "no space left on device", LastErrorAt: in(-time.Second),
			LastRefusal: "wrong signature", LastRefusalAt: in(-2 * time.Minute),
		}),
		sourceOf(controller.SourceStatus{
			SourceInfo: controller.SourceInfo{Controller: "git-merge", Source: "nightly"},
			State:      controller.SourceRunning, Since: ago(time.Hour), NextAt: in(18*time.Hour + 15*time.Minute),
		}),
		{SourceInfo: controller.SourceInfo{Controller: "git-merge", Source: "yearly"}, State: controller.SourceStopped},
	}
	for i := range lines {
		lines[i].Defined = true
	}
	return lines
}

func readyResource() controller.Raw {
	return controller.Raw{
		Metadata: controller.Metadata{
			UID: someUID, Controller: "git-merge", Key: "feature-1", ResourceVersion: 7, Generation: 2,
			Finalizers: []string{"git-merge/worktree"},
		},
		Spec: json.RawMessage(`{"branch":"feature-1","target":"main"}`),
		Status: controller.Status[json.RawMessage]{
			ObservedGeneration: 2,
			Conditions: []controller.Condition{
				{
					Type: "Verified", Status: controller.True, Reason: "CheckPassed", Message: "the check passed",
					ObservedGeneration: 2, LastTransitionTime: ago(30 * time.Second),
				},
				{
					Type: "Ready", Status: controller.False, Reason: "AwaitingApproval",
					Message:            "the merge is verified; approve it by setting approved to true, then the next pass moves the target",
					ObservedGeneration: 2, LastTransitionTime: ago(30 * time.Second),
				},
			},
			WorkflowRun:      &controller.WorkflowRun{RequestID: "b1e2", RunID: someRun, State: controller.RunSucceeded, Attempt: 2},
			ControllerStatus: json.RawMessage(`{"candidate":"0beab494"}`),
		},
	}
}

func failingResource() controller.Raw {
	r := readyResource()
	r.Metadata.Key = "a-branch-with-a-name-that-is-far-too-long-for-a-table"
	r.Metadata.DeletionTimestamp = in(-time.Minute)
	r.Status.Conditions, r.Status.WorkflowRun = nil, nil
	r.Status.ObservedGeneration = 0
	return r
}

var someQueue = controller.QueueRow{
	State: controller.QueueDelayed, AvailableAt: in(12 * time.Second), ConsecutiveErrors: 3,
	LastError: "git: exit status 128: \x1b[31mfatal\x1b[0m: not a repository",
}

func somePage() controller.ListPage {
	return controller.ListPage{
		Items: []controller.ListItem{
			{Resource: failingResource(), Queue: someQueue},
			{Resource: readyResource(), Queue: controller.QueueRow{State: controller.QueueNone}},
		},
		Continue: "Zm9v",
	}
}

func someEvents() []controller.Event {
	ref := readyResource().Metadata.Ref()
	return []controller.Event{
		{
			Seq: 41, RecordedAt: ago(time.Minute), Ref: ref, Type: controller.EventUpdated,
			Payload: json.RawMessage(`{"generation":2,"actor":"ada@engine"}`),
		},
		{
			Seq: 42, RecordedAt: ago(30 * time.Second), Ref: ref, Type: controller.EventFailed, Payload: json.RawMessage(
				`{"reconcileId":"c3","generation":2,"outcome":"error","durationMs":83,"reason":"error_backoff","requeueAfterMs":2000,"error":"no route"}`),
		},
	}
}

func somePicture() picture {
	return picture{
		resource: readyResource(), queue: someQueue, events: someEvents(),
		effects: []controller.EffectRecord{{
			Key: "merge:2:0beab494", ResourceUID: someUID, Generation: 2, Kind: "git-merge", RequestFingerprint: "9f86d081",
			State: controller.EffectApplied, Token: "d4", ExternalRef: "refs/heads/main", StartedAt: ago(20 * time.Second),
			CompletedAt: in(-19 * time.Second),
		}},
		children: []controller.ChildRun{{
			RequestID: "b1e2", ResourceUID: someUID, RequestKey: "verify:2:0beab494", Workflow: "verify-branch", RunID: someRun,
			State: controller.RunSucceeded, Attempt: 2,
		}},
		why: explained(controller.ListItem{Resource: readyResource(), Queue: someQueue}),
	}
}

func someRunLines() []runLine {
	return []runLine{
		{RunID: otherRun, Workflow: "greet", Status: "queued", CreatedAt: "2027-01-05T08:14:58.000Z"},
		{
			RunID: someRun, Workflow: "verify-branch", Status: "completed", CreatedAt: "2027-01-05T08:14:12.000Z",
			StartedAt: "2027-01-05T08:14:12.050Z", FinishedAt: "2027-01-05T08:14:13.300Z", Steps: 15, ChildOf: "b1e2", Attempt: 2,
		},
	}
}

var someSummary = host.Summary{
	Delayed: []host.Pending{{
		Ref: controller.Ref{Controller: "git-merge", Key: "feature-1"}, Until: epoch.Add(2 * time.Minute), LastError: "no route",
	}},
	Failed: []host.Pending{{
		Ref: controller.Ref{Controller: "git-merge", Key: "feature-1"}, Until: epoch.Add(2 * time.Minute), LastError: "no route",
	}},
}

var someResult = engine.Result{
	RunID: otherRun, Status: runbundle.Completed, FinalOutput: json.RawMessage(`{"greeting":"hello Ada"}`),
}

func someBundle() *runbundle.Bundle {
	start := runbundle.At(epoch)
	return &runbundle.Bundle{
		Dir: "/srv/ada/.pi/agent/workflows/runs/" + otherRun,
		Workflow: json.RawMessage(`{"schema":"pi-workflows.definition-snapshot.v1","name":"greet","startAt":"hello",` +
			`"nodes":{"hello":{"nodeType":"compute"}},"edges":[],"composition":{"mounts":[]}}`),
		State: runbundle.State{
			RunID: otherRun, WorkflowName: "greet", StartedAt: start, FinishedAt: runbundle.At(epoch.Add(12 * time.Millisecond)),
			Status: runbundle.Completed, FinalOutput: json.RawMessage(`{"greeting":"hello Ada"}`),
			Steps: []runbundle.Step{{
				AttemptID: "a1", NodeID: "hello", NodeType: "compute", Outcome: "ok", StartedAt: start,
				FinishedAt: runbundle.At(epoch.Add(9 * time.Millisecond)), Output: json.RawMessage(`{"greeting":"hello Ada"}`),
			}},
			Updates: []runbundle.Update{{
				Type: "progress", Key: "overall", NodeID: "hello", At: runbundle.At(epoch.Add(5 * time.Millisecond)),
				Data: json.RawMessage(`{"schema":"pi-workflows.progress.v1","status":"running","completed":1,"total":2,"unit":"words"}`),
			}},
		},
	}
}

// explained is what explain says of a resource in a project with a host.
func explained(item controller.ListItem) controller.Explanation {
	return controller.Explain(controller.Situation{
		Resource: item.Resource, Queue: item.Queue, HostRuns: true, Loaded: true, Now: epoch,
	})
}

func someLines() []resourceLine {
	var lines []resourceLine
	for _, item := range somePage().Items {
		lines = append(lines, lineOf(item.Resource, item.Queue, explained(item)))
	}
	return lines
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for name, draw := range map[string]func(a *App) error{
		"controllers": func(a *App) error { return a.printResources(someLines(), "Zm9v", nil) },
		"controller":  func(a *App) error { return a.printPicture(somePicture()) },
		"controller-deleting": func(a *App) error {
			return a.printPicture(picture{resource: failingResource(), why: explained(controller.ListItem{Resource: failingResource()})})
		},
		"events": func(a *App) error { return a.printEvents(someEvents(), eventsResult{}, nil) },
		"events-stream": func(a *App) error {
			stream := a.eventStream()
			return errors.Join(a.printEvents(someEvents()[:1], eventsResult{}, stream), a.printEvents(someEvents()[1:], eventsResult{}, stream))
		},
		"controllers-stream": func(a *App) error {
			lines := view.NewLines(watchColumns(), a.Style())
			first := someLines()[1:]
			return errors.Join(a.printResources(first, "Zm9v", lines), a.printResources(first, "", lines), a.print(lines.Add([][]string{deletedRow(readyResource().Metadata.Ref())})))
		},
		"runs":    func(a *App) error { return a.printRuns(someRunLines()) },
		"sources": func(a *App) error { return a.printSources(someSources()) },
		"host":    func(a *App) error { return a.printLeft(someSummary) },
		"run":     func(a *App) error { return a.printRun("run", "", host.Paths{}, someResult) },
		"graph":   func(a *App) error { return a.showGraph("greet", "ascii", false) },
	} {
		a, out, errs := screen()
		if err := draw(a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden(t, "screen-"+name+".txt", out.String()+errs.String())
	}
}
