package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/secret"
)

// listening runs a host that answers over HTTP until the test or stop ends it.
func (w *world) listening(t *testing.T, o host.Options) (base string, stop func() error) {
	t.Helper()
	h, err := host.New(t.Context(), o, w.store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + h.Addr(), func() error {
		cancel()
		return await(t, ended)
	}
}

func (w *world) listeningOptions() host.Options {
	o := w.options()
	o.Listen.Addr = "127.0.0.1:0"
	return o
}

// get asks and returns what came back.
func get(t *testing.T, url string, header ...string) (code int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// ready asks a host whether it is ready, and returns the codes of why not.
func ready(t *testing.T, base string) (code int, reasons []string) {
	t.Helper()
	code, body := get(t, base+"/readyz")
	var r host.Readiness
	if err := json.Unmarshal([]byte(body), &r); err != nil || r.Ready != (code == http.StatusOK) || r.Ready != (len(r.Reasons) == 0) {
		t.Fatalf("%d %s: %v", code, body, err)
	}
	for _, reason := range r.Reasons {
		if reason.Message == "" {
			t.Errorf("no message: %s", body)
		}
		reasons = append(reasons, reason.Code)
	}
	return code, reasons
}

// until asks until the host is in a state; it changes within milliseconds, and
// tells nobody.
func until(t *testing.T, base, want string) {
	t.Helper()
	for range 10_000 {
		if _, reasons := ready(t, base); strings.Join(reasons, " ") == want {
			return
		}
	}
	_, reasons := ready(t, base)
	t.Fatalf("readyz says %q, want %q", reasons, want)
}

// Weakness: no readiness and no limit of the drain. A host says that it stops
// while it waits for a run that does not end, and gives up in time.
func TestAHostTellsWhetherItIsReadyAndStopsInTime(t *testing.T) {
	t.Parallel()
	w := newWork()
	world := newWorld(t, w)
	world.put(t, "one", "stubborn")
	o := world.listeningOptions()
	o.Drain = time.Second
	h, err := host.New(t.Context(), o, world.store)
	if err != nil {
		t.Fatal(err)
	}
	if now := h.Ready(t.Context()); now.Ready || now.Reasons[0].Code != host.UnreadyStarting {
		t.Errorf("before it runs: %+v", now)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	base := "http://" + h.Addr()
	await(t, w.started)
	until(t, base, "")
	cancel()
	until(t, base, host.UnreadyStopping)
	if code, body := get(t, base+"/healthz"); code != http.StatusOK || body != "{\"alive\":true}\n" {
		t.Errorf("healthz: %d %s", code, body)
	}
	err = await(t, ended)
	if late, ok := errors.AsType[*host.DrainError](err); !ok || late.After != o.Drain {
		t.Errorf("Run = %v, want a *DrainError", err)
	}
	close(w.release)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestMetricsAreThereForEveryController(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	base, _ := w.listening(t, w.listeningOptions())
	code, body := get(t, base+"/metrics")
	if code != http.StatusOK || !strings.Contains(body, `pi_workflows_workqueue_depth{controller="job"} 0`) {
		t.Errorf("%d\n%s", code, body)
	}
}

// A rate over a series that begins at one misses the first event.
func TestMetricsOfAControllerThatComesLaterBeginAtZero(t *testing.T) {
	t.Parallel()
	f := following{newFolder(t, host.PlaceProject, map[string]string{"early.controller": "one"}), newWorld(t, newWork())}
	f.world.catalog = host.Load(t.Context(), f.folder)
	base, _ := f.world.listening(t, f.world.listeningOptions())
	f.loaded(t, "one")
	f.write(t, "late.controller", "two")
	f.tell()
	f.loaded(t, "two")
	_, body := get(t, base+"/metrics")
	for _, series := range []string{
		`controller_reconcile_total{controller="late",result="error"}`, `workqueue_depth{controller="late"}`,
	} {
		if !strings.Contains(body, "pi_workflows_"+series+" 0\n") {
			t.Errorf("%s is not there", series)
		}
	}
}

func TestATokenKeepsStrangersOff(t *testing.T) { // no t.Parallel: it sets the environment
	t.Setenv("PI_WORKFLOWS_TEST_TOKEN", "a-token-of-some-length")
	w := newWorld(t, newWork())
	o := w.listeningOptions()
	var err error
	if o.Listen.Token, err = secret.Parse("env:PI_WORKFLOWS_TEST_TOKEN"); err != nil {
		t.Fatal(err)
	}
	w.catalog = compile(t, controller.Define("later", later{}, controller.WithSources(&hooked{})))
	o.Catalog = w.catalog
	base, _ := w.listening(t, o)
	// Hooks have signatures of their own.
	if code, _ := get(t, base+host.HookPath("later", "hook")); code != http.StatusTeapot {
		t.Errorf("a hook answers %d", code)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		for header, want := range map[string]int{
			"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized, "a-token-of-some-length ": http.StatusUnauthorized,
			"Bearer a-token-of-some-length": http.StatusOK,
		} {
			code, body := get(t, base+path, "Authorization", header)
			if code == http.StatusServiceUnavailable && path == "/readyz" {
				code = http.StatusOK // it let us in
			}
			if code != want {
				t.Errorf("%s with %q: %d %s", path, header, code, body)
			}
		}
	}
}

func TestWhereAHostMayListen(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	w := newWorld(t, newWork())
	for addr, code := range map[string]string{
		"0.0.0.0:0": "listen_unguarded", "[::]:0": "listen_unguarded", "192.0.2.1:80": "listen_unguarded",
		"8080": "invalid_address", "127.0.0.1:": "invalid_address", "127.0.0.1:99999": "invalid_address",
		taken.Addr().String(): "cannot_listen",
	} {
		o := w.options()
		o.Listen.Addr = addr
		_, err := host.New(t.Context(), o, w.store)
		coded, ok := errors.AsType[interface {
			error
			ErrorCode() string
		}](err)
		if !ok || coded.ErrorCode() != code {
			t.Errorf("%s: %v, want %s", addr, err, code)
		}
	}
	o := w.options()
	o.Listen.Addr = ":0"
	h, err := host.New(t.Context(), o, w.store) // and the lock was given back each time
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(h.Addr(), "127.0.0.1:") {
		t.Errorf("without a host it listens on %s", h.Addr())
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestLargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newWork())
	base, _ := w.listening(t, w.listeningOptions())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Large", strings.Repeat("x", 64<<10))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return // it hung up before it had read all
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", answer.StatusCode)
	}
}
