package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"go.uber.org/goleak"

	"piworkflows/clock/clocktest"
	"piworkflows/controller"
	"piworkflows/internal/golden"
	"piworkflows/metrics"
	"piworkflows/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a real store with a manager whose records are counted.
type world struct {
	t        *testing.T
	clock    *clocktest.Manual
	store    *sqlite.Store
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	manager  *controller.Manager
}

func newWorld(t *testing.T, defs ...*controller.Definition) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New(), registry: prometheus.NewPedanticRegistry()}
	var err error
	w.store, err = sqlite.Open(t.Context(), sqlite.Options{
		Path: filepath.Join(t.TempDir(), "store.sqlite"), Scope: strings.Repeat("0", 24), Clock: w.clock,
	})
	w.must(err)
	t.Cleanup(func() { w.must(w.store.Close()) })
	w.metrics, err = metrics.Register(w.registry, metrics.Options{Definitions: defs, Store: w.store, Clock: w.clock})
	w.must(err)
	w.manager, err = controller.NewManager(controller.ManagerOptions{
		Store: w.store, Definitions: defs, Clock: w.clock, Observer: w.metrics, Random: func() float64 { return 0.5 },
	})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(d *controller.Definition, key string) {
	w.t.Helper()
	_, err := controller.PutSpec(w.t.Context(), w.store, d, controller.Put{
		Ref: controller.Ref{Controller: d.Name, Key: key}, Spec: json.RawMessage(`1`),
	})
	w.must(err)
}

func (w *world) once() {
	w.t.Helper()
	if ran, err := w.manager.RunOnce(w.t.Context()); err != nil || !ran {
		w.t.Fatalf("RunOnce = %v, %v; want a pass", ran, err)
	}
}

// text is what a server of the metrics would send.
func (w *world) text() string {
	w.t.Helper()
	families, err := w.registry.Gather()
	w.must(err)
	var out bytes.Buffer
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&out, f)
		w.must(err)
	}
	return out.String()
}

// series are the names and labels in a text.
func series(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			name, _, _ := strings.Cut(line, " ")
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

var settled = controller.Settled(controller.Patch[json.RawMessage]{})

func TestThePassesOfAControllerInNumbers(t *testing.T) {
	t.Parallel()
	var w *world
	results := []func() (controller.RawResult, error){
		func() (controller.RawResult, error) { return controller.RawResult{}, errors.New("no") },
		func() (controller.RawResult, error) { panic("boom") },
		func() (controller.RawResult, error) { return settled, nil },
		func() (controller.RawResult, error) { return settled, controller.Terminal(errors.New("never")) },
	}
	d := &controller.Definition{
		Name: "busy", Concurrency: 2,
		Reconcile: func(ctx context.Context, p *controller.Pass, _ controller.Raw) (controller.RawResult, error) {
			w.clock.Advance(300 * time.Millisecond)
			if len(results) == 2 {
				if _, err := p.Effects.Ensure(ctx, effect()); err != nil {
					return settled, err
				}
			}
			next := results[0]
			results = results[1:]
			return next()
		},
	}
	w = newWorld(t, d)
	w.put(d, "k")
	w.clock.Advance(2 * time.Second)
	for range 4 {
		w.once()
		w.clock.Advance(time.Minute)
		_, err := w.store.Enqueue(t.Context(), controller.Ref{Controller: "busy", Key: "k"}, "")
		w.must(err)
	}
	w.clock.Advance(7 * time.Second) // nobody takes it
	golden.Check(t, "busy.txt", w.text())
}

func idle(name string) *controller.Definition {
	return &controller.Definition{
		Name: name,
		Reconcile: func(context.Context, *controller.Pass, controller.Raw) (controller.RawResult, error) {
			return settled, nil
		},
	}
}

func effect() controller.Effect {
	return controller.Effect{
		Key: "e", Kind: "test", Request: 1,
		Observe: func(context.Context) (controller.Observation, error) {
			return controller.Observation{}, errors.New("unasked")
		},
		Apply: func(context.Context, string) (controller.Application, error) {
			return controller.Application{State: controller.EffectApplied}, nil
		},
	}
}

// TestNoSeriesAppearsLater: a rate over a series that begins at one misses it.
func TestNoSeriesAppearsLater(t *testing.T) {
	t.Parallel()
	d := idle("quiet")
	d.Sources = []controller.Source{hook{}}
	w := newWorld(t, d)
	before := series(w.text())
	info := controller.PassInfo{Ref: controller.Ref{Controller: "quiet", Key: "k"}, ReconcileID: "1"}
	w.metrics.Observe(controller.PassStarted{PassInfo: info, Again: true})
	for _, o := range controller.PassOutcomes() {
		for _, after := range []time.Duration{0, time.Second} {
			w.metrics.Observe(controller.PassEnded{PassInfo: info, Outcome: o, After: after})
		}
	}
	w.metrics.Observe(controller.PassAbandoned{PassInfo: info})
	for _, s := range []controller.EffectState{
		controller.EffectPending, controller.EffectApplied, controller.EffectRejected, controller.EffectIndeterminate,
	} {
		w.metrics.Observe(controller.EffectChanged{PassInfo: info, State: s})
	}
	for _, s := range []controller.RunState{
		controller.RunPending, controller.RunRunning, controller.RunWaiting, controller.RunSucceeded, controller.RunFailed,
		controller.RunInterrupted,
	} {
		w.metrics.Observe(controller.ChildChanged{State: s})
	}
	w.metrics.Observe(controller.ChildLost{})
	w.metrics.Observe(controller.StoreFailed{})
	for _, s := range []controller.SourceState{
		controller.SourceRunning, controller.SourceDegraded, controller.SourceRestarting, controller.SourceStopped,
	} {
		w.metrics.Observe(controller.SourceChanged{SourceInfo: aHook, State: s})
	}
	w.metrics.Observe(controller.SourceDelivered{SourceInfo: aHook})
	w.metrics.Observe(controller.SourceRefused{SourceInfo: aHook})
	w.metrics.Observe(controller.SourceFailed{SourceInfo: aHook})
	if diff := cmp.Diff(before, series(w.text())); diff != "" {
		t.Errorf("series (-before +after):\n%s", diff)
	}
	if len(before) == 0 {
		t.Error("there are no series")
	}
}

// TestSeriesOfALaterControllerBegin: it has those that it would have from the start.
func TestSeriesOfALaterControllerBegin(t *testing.T) {
	t.Parallel()
	first, later := idle("first"), idle("quiet")
	later.Sources = []controller.Source{hook{}}
	w := newWorld(t, first)
	w.metrics.Observe(controller.PassEnded{PassInfo: controller.PassInfo{Ref: controller.Ref{Controller: "first", Key: "k"}}, Outcome: controller.PassSettled})
	w.metrics.SetDefinitions(first, later)
	if diff := cmp.Diff(series(newWorld(t, first, later).text()), series(w.text())); diff != "" {
		t.Errorf("series (-from the start +later):\n%s", diff)
	}
	w.metrics.SetDefinitions(later)
	counted := `pi_workflows_controller_reconcile_total{controller="first",result="success"} 1`
	if text := w.text(); !strings.Contains(text, counted) || strings.Contains(text, `workqueue_depth{controller="first"}`) {
		t.Errorf("of a controller that is gone there is\n%s", text)
	}
}

// hook is a source of the controller quiet that does nothing.
type hook struct{}

var aHook = controller.SourceInfo{Controller: "quiet", Source: "hook"}

func (hook) Name() string                                 { return aHook.Source }
func (hook) Run(context.Context, controller.Intake) error { return nil }

func TestWhatComesInIsCounted(t *testing.T) {
	t.Parallel()
	d := idle("quiet")
	d.Sources = []controller.Source{hook{}}
	w := newWorld(t, d)
	w.expect(`pi_workflows_source_up{controller="quiet",source="hook"} 0`)
	for _, r := range []controller.Record{
		controller.SourceChanged{SourceInfo: aHook, State: controller.SourceRunning},
		controller.SourceDelivered{SourceInfo: aHook, Result: controller.DeliveryResult{Enqueued: 2, Unknown: 1}, At: time.Unix(70, 0)},
		controller.SourceDelivered{SourceInfo: aHook, Result: controller.DeliveryResult{Duplicate: true}, At: time.Unix(71, 0)},
		controller.SourceRefused{SourceInfo: aHook, At: time.Unix(72, 0)},
		controller.SourceFailed{SourceInfo: aHook, Err: errors.New("no")},
		controller.SourceChanged{SourceInfo: aHook, State: controller.SourceDegraded, Reason: "slow"},
	} {
		w.metrics.Observe(r)
	}
	w.expect(`pi_workflows_source_up{controller="quiet",source="hook"} 1`,
		`pi_workflows_source_degraded{controller="quiet",source="hook"} 1`,
		`pi_workflows_source_deliveries_total{controller="quiet",source="hook"} 1`,
		`pi_workflows_source_duplicates_total{controller="quiet",source="hook"} 1`,
		`pi_workflows_source_keys_total{controller="quiet",result="enqueued",source="hook"} 2`,
		`pi_workflows_source_keys_total{controller="quiet",result="unknown",source="hook"} 1`,
		`pi_workflows_source_refused_total{controller="quiet",source="hook"} 1`,
		`pi_workflows_source_errors_total{controller="quiet",source="hook"} 1`,
		`pi_workflows_source_restarts_total{controller="quiet",source="hook"} 0`,
		`pi_workflows_source_last_seen_timestamp_seconds{controller="quiet",source="hook"} 72`)
	w.metrics.Observe(controller.SourceChanged{SourceInfo: aHook, State: controller.SourceRestarting})
	w.expect(`pi_workflows_source_up{controller="quiet",source="hook"} 0`,
		`pi_workflows_source_degraded{controller="quiet",source="hook"} 0`,
		`pi_workflows_source_restarts_total{controller="quiet",source="hook"} 1`)
}

func TestAPassThatRunsIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, idle("c"))
	one := controller.PassInfo{Ref: controller.Ref{Controller: "c", Key: "a"}, ReconcileID: "1"}
	two := controller.PassInfo{Ref: controller.Ref{Controller: "c", Key: "b"}, ReconcileID: "2"}
	w.metrics.Observe(controller.PassStarted{PassInfo: one})
	w.clock.Advance(3 * time.Second)
	w.metrics.Observe(controller.PassStarted{PassInfo: two})
	w.clock.Advance(time.Second)
	w.expect(`pi_workflows_controller_active_workers{controller="c"} 2`,
		`pi_workflows_workqueue_unfinished_work_seconds{controller="c"} 5`,
		`pi_workflows_workqueue_longest_running_processor_seconds{controller="c"} 4`)
	w.metrics.Observe(controller.PassEnded{PassInfo: one, Outcome: controller.PassLost})
	w.metrics.Observe(controller.PassAbandoned{PassInfo: one})
	w.expect(`pi_workflows_controller_active_workers{controller="c"} 1`,
		`pi_workflows_workqueue_longest_running_processor_seconds{controller="c"} 1`,
		`pi_workflows_controller_claims_lost_total{controller="c"} 1`,
		`pi_workflows_controller_abandoned_reconcilers{controller="c"} 1`)
	w.metrics.Observe(controller.PassReturned{PassInfo: one})
	w.expect(`pi_workflows_controller_abandoned_reconcilers{controller="c"} 0`)
}

// expect looks for lines.
func (w *world) expect(lines ...string) {
	w.t.Helper()
	text := w.text()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			w.t.Errorf("no line %s", line)
		}
	}
}

func TestAStoreThatIsDownTakesNoSeriesOfPassesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.store.Close())
	text := w.text()
	for line, want := range map[string]bool{"pi_workflows_store_up 0\n": true, "pi_workflows_child_runs_unfinished": false} {
		if strings.Contains(text, line) != want {
			t.Errorf("%q in the metrics is %v, want %v", line, !want, want)
		}
	}
}

func TestTheMetricsFollowTheRulesOfPrometheus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, idle("c"))
	problems, err := promlint.New(strings.NewReader(w.text())).Lint()
	w.must(err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if _, err := metrics.Register(w.registry, metrics.Options{Store: w.store}); err == nil {
		t.Error("the same series were registered twice")
	}
}
