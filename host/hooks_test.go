package host_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"piworkflows/controller"
	"piworkflows/host"
)

// hooked is a source that things reach by HTTP.
type hooked struct{ flaky }

func (*hooked) Name() string { return "hook" }

func (*hooked) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
}

func TestTheHandlersOfSourcesByTheirPaths(t *testing.T) {
	t.Parallel()
	c := compile(t, controller.Define("later", later{}, controller.WithSources(&hooked{}, &flaky{})))
	hooks := c.Hooks()
	if len(hooks) != 1 {
		t.Fatalf("hooks: %v", hooks)
	}
	path := host.HookPath("later", "hook")
	answer := httptest.NewRecorder()
	hooks[path].ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, http.NoBody))
	if path != "/hooks/later/hook" || answer.Code != http.StatusTeapot {
		t.Errorf("%s answers %d", path, answer.Code)
	}
}
