package agent

import "io"

// newInput returns an input over any reader: a console cannot be waited for
// together with something else.
func newInput(r io.Reader) input { return &patient{from: r} }
