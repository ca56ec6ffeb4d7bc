package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/host"
	"piworkflows/runqueue"
)

// launch makes the row of a run that has no bundle.
func (h house) launch(runID string) {
	h.t.Helper()
	a := h.app(nil, nil)
	if err := a.root(nil).ParseFlags(h.flags); err != nil {
		h.t.Fatal(err)
	}
	a.o.Clock = clock.System()
	err := a.withStore(h.t.Context(), func(_ host.Paths, s host.Store) error {
		_, err := s.Launch(context.Background(), runqueue.NewRun{
			RunID: runID, Workflow: "greet", Source: json.RawMessage(`{}`), Digest: "sha256:0", Input: json.RawMessage(`null`),
		}, time.Minute)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func TestARunWithoutARecordIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.launch(otherRun)
	if got := h.do(exitDone, "runs", "-o", "json"); !strings.Contains(got, `"status": "interrupted"`) {
		t.Errorf("runs = %s", got)
	}
	h.do(exitNotFound, "view", otherRun)
}

func TestABrokenRecordIsToldAndHidesNoOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.do(exitDone, "run", "greet", "--input", `{"name":"Ada"}`)
	h.launch(otherRun)
	dir := filepath.Join(h.flags[len(h.flags)-1], otherRun)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := h.do(exitDone, "runs", "-o", "json")
	if !strings.Contains(got, `"status": "completed"`) || !strings.Contains(got, "manifest.json") {
		t.Errorf("runs = %s", got)
	}
	h.do(exitFailed, "view", otherRun)
}

func TestNotRecordedErrorTellsTheNextStep(t *testing.T) {
	t.Parallel()
	for status, want := range map[runqueue.Status]string{
		runqueue.Queued: "start a host", runqueue.Failed: "name the right folder with --runs",
	} {
		err := &host.NotRecordedError{RunID: otherRun, Status: status, Runs: "/runs"}
		if !strings.HasSuffix(err.Error(), want) || exitCode(err) != exitNotFound {
			t.Errorf("%s: %v, exit code %d", status, err, exitCode(err))
		}
	}
}
