package host

import (
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

// HookPath is where the handler of a source is found.
func HookPath(owner, source string) string { return "/hooks/" + owner + "/" + source }

// Hooks returns the handlers of the HTTP sources of all controllers by their
// HookPath. They answer whoever asks: a source checks by itself that it is
// talked to by whom it expects.
func (c *Catalog) Hooks() map[string]http.Handler {
	hooks := map[string]http.Handler{}
	for info, s := range c.sources() {
		if s, ok := s.(HTTPSource); ok {
			hooks[HookPath(info.Controller, info.Source)] = s.Handler()
		}
	}
	return hooks
}
