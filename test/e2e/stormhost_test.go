package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/testproc"
	"piworkflows/secret"
	"piworkflows/source/webhook"
)

// stormEnv makes this program a host that takes webhooks for the project in that
// folder until it is killed.
const stormEnv = "PI_WORKFLOWS_TEST_STORM"

// stormed is a controller that has nothing to do.
type stormed struct{}

func (stormed) Reconcile(
	context.Context, *controller.Pass, controller.Resource[struct{}, struct{}],
) (controller.Result[struct{}], error) {
	return controller.Settled(controller.Patch[struct{}]{}), nil
}

func stormPaths(folder string) host.Paths {
	return host.Paths{Project: folder, Store: filepath.Join(folder, "store", "controller.sqlite"), Runs: filepath.Join(folder, "runs")}
}

// weatherStorm is the host of stormEnv. It writes its address to stdout.
func weatherStorm(ctx context.Context, folder string) error {
	ref, err := secret.Parse("file:" + filepath.Join(folder, "secret"))
	if err != nil {
		return err
	}
	catalog, err := host.Definitions{Controllers: []*controller.Definition{
		controller.Define("stormed", stormed{}, controller.WithSources(webhook.New("hook", webhook.Options{
			Format: webhook.GitHub(), Secrets: []secret.Ref{ref},
			Keys: webhook.Typed(func(_ context.Context, _ webhook.Event, p struct{ Key string }) ([]string, error) {
				return []string{p.Key}, nil
			}),
		}))),
	}}.Compile()
	if err != nil {
		return err
	}
	store, err := host.OpenStore(ctx, stormPaths(folder), clock.System(), nil)
	if err != nil {
		return err
	}
	h, err := host.New(ctx, host.Options{
		Paths: stormPaths(folder), Catalog: catalog, Listen: host.Listen{Addr: "127.0.0.1:0"},
	}, store)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, h.Addr())
	return h.Run(ctx)
}

// stormHost is a process that runs weatherStorm.
type stormHost struct {
	*testproc.Process

	url string
}

func startStormHost(t *testing.T, folder string) *stormHost {
	t.Helper()
	p, err := testproc.Start(t.Context(), stormEnv, folder)
	mustNot(t, err)
	t.Cleanup(p.Kill)
	return &stormHost{p, "http://" + p.Said + host.HookPath("stormed", "hook")}
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// memory is the most memory that the process had, in bytes; 0 where the system does
// not tell.
func (h *stormHost) memory() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.PID()))
	found := highWater.FindSubmatch(text)
	if err != nil || found == nil {
		return 0
	}
	kilobytes, _ := strconv.Atoi(string(found[1]))
	return kilobytes << 10
}
