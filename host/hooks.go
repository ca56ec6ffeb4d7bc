package host

import (
	"maps"
	"net/http"

	"piworkflows/controller"
)

// HTTPSource is an optional ability of a controller.Source: things reach it by
// HTTP. The handler is used from before Run begins until after it ended, so that
// it has to answer without an Intake, too: with 503.
type HTTPSource interface {
	controller.Source
	Handler() http.Handler
}

// hooksRoot is above the paths of all hooks.
const hooksRoot = "/hooks/"

// HookPath is where the handler of a source is found.
func HookPath(owner, source string) string { return hooksRoot + owner + "/" + source }

// Hooks returns the handlers of the HTTP sources of all controllers by their
// HookPath. They answer whoever asks: a source checks by itself that it is
// talked to by whom it expects.
func (c *Catalog) Hooks() map[string]http.Handler { return maps.Clone(c.now.Load().hooks) }

// hook answers with the HTTP source at the path of a request, as it is now.
func (c *Catalog) hook(w http.ResponseWriter, r *http.Request) {
	if handler := c.now.Load().hooks[r.URL.Path]; handler != nil {
		handler.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}
