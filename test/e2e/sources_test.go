package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/secret"
	"piworkflows/source/fswatch"
	"piworkflows/source/poll"
	"piworkflows/source/resources"
	"piworkflows/source/schedule"
	"piworkflows/source/webhook"
	"piworkflows/store/sqlite"
	"piworkflows/workflow"
)

const (
	wokenKey   = "k"
	hookSecret = "what-the-provider-signs-with"
)

// woken is a controller that asks for one child run.
type woken struct{}

func (woken) Reconcile(
	ctx context.Context, p *controller.Pass, _ controller.Resource[struct{}, struct{}],
) (controller.Result[struct{}], error) {
	_, err := p.Workflows.Ensure(ctx, controller.WorkflowRequest{RequestKey: "once", Workflow: "short"})
	return controller.Settled(controller.Patch[struct{}]{}), err
}

// upstream is a controller that is ready at once.
type upstream struct{}

func (upstream) Reconcile(
	context.Context, *controller.Pass, controller.Resource[struct{}, struct{}],
) (controller.Result[struct{}], error) {
	return controller.Settled(controller.Patch[struct{}]{
		Conditions: []controller.Condition{controller.ConditionTrue(controller.Ready, "There", "")},
	}), nil
}

// outside is what the sources listen to.
type outside struct {
	folder string
	hook   *webhook.Source
}

// definitions declares every kind of source for one controller.
func (o *outside) definitions(t *testing.T) host.Definitions {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	mustNot(t, os.WriteFile(file, []byte(hookSecret), 0o600))
	ref, err := secret.Parse("file:" + file)
	mustNot(t, err)
	o.hook = webhook.New("webhook", webhook.Options{
		Format: webhook.GitHub(), Secrets: []secret.Ref{ref},
		Keys: webhook.Typed(func(_ context.Context, _ webhook.Event, p struct{ Key string }) ([]string, error) {
			return []string{p.Key}, nil
		}),
	})
	return host.Definitions{
		Workflows: []*workflow.Definition{{
			Name: "short", Revision: "1", StartAt: "only", Nodes: []workflow.Node{workflow.Compute{
				ID: "only", Run: func(context.Context, *workflow.Context) (any, error) { return 1, nil },
			}},
		}},
		Controllers: []*controller.Definition{
			controller.Define("upstream", upstream{}),
			controller.Define("woken", woken{}, controller.WithSources(
				o.hook,
				fswatch.New("fswatch", fswatch.Options{Root: o.folder, Keys: func(path string) []string {
					return []string{strings.TrimSuffix(path, ".txt")}
				}}),
				schedule.New("schedule", schedule.Options{Every: time.Second, Keys: schedule.EveryResource}),
				poll.New("poll", poll.Options{Every: time.Hour, Observe: func(_ context.Context, cursor string) (poll.Observation, error) {
					return poll.Observation{Keys: []string{wokenKey}, Cursor: cursor + "seen"}, nil
				}}),
				resources.New("resources", resources.Options{Controller: "upstream", Keys: resources.Ready(resources.SameKey)}),
			)),
		},
	}
}

// send delivers by HTTP what a provider would, and reports whether it was taken: a
// host that is just starting asks to come again.
func (o *outside) send(t *testing.T) bool {
	t.Helper()
	const body = `{"Key":"k","secret":"not to be kept"}`
	mac := hmac.New(sha256.New, []byte(hookSecret))
	_, _ = io.WriteString(mac, body)
	r := httptest.NewRequest(http.MethodPost, "/hooks/woken/webhook", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Github-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	r.Header.Set("X-Github-Event", "push")
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer := httptest.NewRecorder()
	o.hook.Handler().ServeHTTP(answer, r)
	if answer.Code != http.StatusOK && answer.Code != http.StatusServiceUnavailable {
		t.Errorf("the webhook is answered %d: %s", answer.Code, answer.Body)
	}
	return answer.Code == http.StatusOK
}

// TestEverySourceWakesTheSameKey has a host with every kind of source, all of
// which deliver through the one way in, beside the end of a child run.
func TestEverySourceWakesTheSameKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := &outside{folder: filepath.Join(dir, "watched")}
	catalog, err := o.definitions(t).Compile()
	mustNot(t, err, os.Mkdir(o.folder, 0o700))
	ctx, store, stop := startHost(t, dir, catalog)

	for _, name := range []string{"woken", "upstream"} {
		def, err := catalog.Controllers.Get(name)
		mustNot(t, err)
		_, err = controller.PutSpec(ctx, store, def, controller.Put{Ref: controller.Ref{Controller: name, Key: wokenKey}, Spec: []byte(`{}`)})
		mustNot(t, err)
	}
	mustNot(t, os.WriteFile(filepath.Join(o.folder, "k.txt"), nil, 0o600))
	sent := false
	waiting := map[string]bool{"webhook": true, "fswatch": true, "schedule": true, "poll": true, "resources": true, "child run": true}
	for at := controller.Cursor(""); len(waiting) > 0; {
		changes, err := store.Changes(ctx, at, controller.ChangeFilter{Controller: "woken", Key: wokenKey})
		if err != nil {
			t.Fatalf("%v did not wake the key: %v", waiting, err)
		}
		for _, e := range changes.Events {
			delete(waiting, wakerOf(t, e))
		}
		sent = sent || o.send(t)
		at = changes.Next
	}
	stop()
	checkTold(t, store)
}

// startHost runs a host for these definitions, with all that is its own in a
// folder, for a minute at most or until stop is called.
func startHost(t *testing.T, dir string, catalog *host.Catalog) (ctx context.Context, store *sqlite.Store, stop func()) {
	t.Helper()
	paths := host.Paths{Project: dir, Store: filepath.Join(dir, "store", "controller.sqlite"), Runs: filepath.Join(dir, "runs")}
	store, err := host.OpenStore(t.Context(), paths, clock.System(), nil)
	mustNot(t, err)
	t.Cleanup(func() { mustNot(t, store.Close()) })
	h, err := host.New(t.Context(), host.Options{Paths: paths, Catalog: catalog}, store)
	mustNot(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		mustNot(t, <-ended, h.Close())
	})
	t.Cleanup(stop)
	return ctx, store, stop
}

// wakerOf names what an event is about; empty if that wakes nobody.
func wakerOf(t *testing.T, e controller.Event) string {
	t.Helper()
	var payload struct{ Source, State string }
	mustNot(t, json.Unmarshal(e.Payload, &payload))
	if strings.Contains(string(e.Payload), "not to be kept") {
		t.Errorf("a payload was kept: %s", e.Payload)
	}
	if e.Type == controller.EventWorkflowStateChanged && payload.State == string(controller.RunSucceeded) {
		return "child run"
	}
	return payload.Source
}

// checkTold checks what the host told of its sources.
func checkTold(t *testing.T, store *sqlite.Store) {
	t.Helper()
	told, err := store.Sources(t.Context())
	mustNot(t, err)
	if len(told) != 5 {
		t.Errorf("told of %d sources", len(told))
	}
	for _, s := range told {
		if s.Deliveries == 0 || s.Enqueued == 0 || s.LastSeenAt == nil || s.State != controller.SourceStopped || s.Restarts != 0 {
			t.Errorf("told of %s: %+v", s.Source, s)
		}
	}
}

func mustNot(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
