package host

import (
	"sync/atomic"

	"piworkflows/controller"
)

// passCount is an observer that counts the passes that run.
type passCount struct{ now atomic.Int64 }

// Observe implements controller.Observer.
func (c *passCount) Observe(r controller.Record) {
	switch r.(type) {
	case controller.PassStarted:
		c.now.Add(1)
	case controller.PassEnded:
		c.now.Add(-1)
	}
}

func (c *passCount) running() int64 { return c.now.Load() }
