package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/workflow"
)

// lingering asks for a child run, and its pass lasts until the host stops.
func lingering(begun chan<- string) *controller.Definition {
	return &controller.Definition{Name: "job", Reconcile: func(ctx context.Context, p *controller.Pass, r controller.Raw) (controller.RawResult, error) {
		_, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "work", Workflow: "work", Input: r.Spec})
		if err != nil {
			return controller.RawResult{}, err
		}
		begun <- p.ID
		<-ctx.Done()
		return controller.RawResult{}, context.Cause(ctx)
	}}
}

// records are what a log said, by message.
func records(t *testing.T, log *bytes.Buffer) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for line := range bytes.Lines(log.Bytes()) {
		var r map[string]any
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all[r["msg"].(string)] = r
	}
	return all
}

func TestAStopSaysWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	way := newWork()
	w := newWorld(t, way)
	var err error
	w.catalog, err = host.Definitions{
		Controllers: []*controller.Definition{lingering(way.started)}, Workflows: []*workflow.Definition{way.definition()},
	}.Compile()
	must(t, err)
	w.put(t, "a", "hang")
	_, err = host.QueueWorkflow(t.Context(), w.options(), w.store, "work", []byte(`{"mode":"hang"}`))
	must(t, err)

	var log bytes.Buffer
	o := w.options()
	o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	h, err := host.New(t.Context(), o, w.store)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	for range 3 { // a pass, its child run, and a run that belongs to nobody
		await(t, way.started)
	}
	cancel()
	must(t, await(t, ended))
	must(t, h.Close())

	told := records(t, &log)
	for field, want := range map[string]float64{"drainMs": 30_000, "passes": 1, "childRuns": 1, "detachedRuns": 1} {
		if got := told["stopping"][field]; got != want {
			t.Errorf("stopping: %s is %v, want %v", field, got, want)
		}
	}
	if _, ok := told["stopped"]["tookMs"].(float64); !ok {
		t.Errorf("stopped: %v", told["stopped"])
	}
}

func TestARunThatWentWellHasNoErrorInTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	_, err := host.QueueWorkflow(t.Context(), w.options(), w.store, "work", []byte(`{"mode":"quick"}`))
	must(t, err)
	var log bytes.Buffer
	o := w.options()
	o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	h, err := host.New(t.Context(), o, w.store)
	must(t, err)
	_, err = h.RunOnce(t.Context())
	must(t, errors.Join(err, h.Close()))
	end := records(t, &log)["detached run"]
	if _, has := end["error"]; has || end["state"] != "completed" {
		t.Errorf("the record of its end is %v", end)
	}
}
