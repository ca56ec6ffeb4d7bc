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
	for _, name := range c.Controllers.Names() {
		def, err := c.Controllers.Get(name)
		if err != nil {
			continue // it was named by the registry itself
		}
		for _, s := range def.Sources {
			if s, ok := s.(HTTPSource); ok {
				hooks[HookPath(name, s.Name())] = s.Handler()
			}
		}
	}
	return hooks
}
