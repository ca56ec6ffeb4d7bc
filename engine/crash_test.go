package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"piworkflows/clock"
	"piworkflows/engine"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

const (
	// crashEnv makes the test binary a process that runs a workflow below the
	// named folder and kills itself after the event of crashAtEnv.
	crashEnv   = "ENGINE_TEST_CRASH"
	crashAtEnv = "ENGINE_TEST_CRASH_AT"
)

// crashFlow ends each of its steps another way.
func crashFlow() *workflow.Definition {
	d := flow(
		compute("a", gives(strings.Repeat("long ", 2000), nil)),
		workflow.Action{ID: "b", Run: gives(nil, errors.New("no"))},
		compute("c", gives(raw(`{"r":"end"}`), nil)),
		compute("end", gives("done", nil)),
	)
	d.Edges[1] = workflow.Edge{From: "b", Switch: routes("$result.outcome", "failed>c", "ok>end")}
	return d
}

const crashEvents = 10

// dieAtEvent tells the types of events and kills the process at the one of
// crashAtEnv.
func dieAtEvent() func(runbundle.Event, workflow.View) {
	at, _ := strconv.ParseInt(os.Getenv(crashAtEnv), 10, 64)
	return func(e runbundle.Event, _ workflow.View) {
		fmt.Println(e.Type)
		switch e.Seq {
		case at:
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {} // until the signal arrives
		case -at:
			select {} // until somebody kills the process
		}
	}
}

func crashHelper(root string) {
	g, err := workflow.Compile(crashFlow())
	if err != nil {
		panic(err)
	}
	run, err := engine.New(engine.Options{RunsDir: root}).Start(context.Background(), g, engine.StartOptions{
		RunID: runID, Observe: dieAtEvent(),
	})
	if err != nil {
		panic(err)
	}
	run.Wait()
}

// TestCrashAfterEveryEvent kills the process of a run after each event. The
// next owner finds every step that was recorded, and a run that ended stays as
// it is.
func TestCrashAfterEveryEvent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; at <= crashEvents; at++ {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "runs")
			child := exec.CommandContext(t.Context(), self)
			child.Env = append(os.Environ(), crashEnv+"="+root, fmt.Sprint(crashAtEnv, "=", at))
			out, err := child.Output()
			if err == nil {
				t.Fatalf("the helper was not killed: %s", out)
			}
			told := strings.Fields(string(out))
			if len(told) != at {
				t.Fatalf("killed after %v", told)
			}
			survives(t, filepath.Join(root, runID), told)
		})
	}
}

func survives(t *testing.T, dir string, told []string) {
	t.Helper()
	before, err := runbundle.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds(before); got != strings.Join(told, " ") {
		t.Errorf("recorded %s, told %v", got, told)
	}
	ended := before.State.Status.Terminal()
	trace, err := os.ReadFile(filepath.Join(dir, "trace.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := runbundle.MarkInterrupted(t.Context(), runbundle.Options{Clock: clock.System()}, dir, "killed")
	if err != nil {
		t.Fatal(err)
	}
	after, err := runbundle.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if ended == after.Interrupted() || s.Status != after.State.Status || trail(after) != trail(before) {
		t.Errorf("ended %v, then %s after %s", ended, s.Status, trail(after))
	}
	if again, err := os.ReadFile(filepath.Join(dir, "trace.ndjson")); err != nil || ended && string(again) != string(trace) {
		t.Errorf("the trace of a terminal bundle changed: %v", err)
	}
	if !ended && s.Error != "killed" {
		t.Errorf("error %q", s.Error)
	}
	mustBeFree(t, dir)
}
