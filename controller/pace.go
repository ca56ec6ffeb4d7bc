package controller

import (
	"sync"
	"time"
)

// maxPaced bounds the keys that a pace remembers. Only keys that run again at
// once are there, so it is never reached unless other managers take them over.
const maxPaced = 10_000

// pace slows down keys that run again at once, time after time.
//
// Spec: Safety rules, bounded retry rates.
type pace struct {
	backoff Backoff
	mu      sync.Mutex
	// inARow counts the passes of a key that asked to run again at once.
	inARow map[Ref]int
}

func newPace() *pace {
	return &pace{
		backoff: Backoff{Base: RequeueBase, Max: RequeueMax, Jitter: BackoffJitter},
		inARow:  map[Ref]int{},
	}
}

// again counts one more pass and returns how long the key has to wait.
func (p *pace) again(ref Ref, random float64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.inARow) >= maxPaced {
		clear(p.inARow)
	}
	p.inARow[ref]++
	if n := p.inARow[ref] - FreeRequeues; n > 0 {
		return p.backoff.Delay(n, random)
	}
	return 0
}

// end forgets a key that does not run again at once.
func (p *pace) end(ref Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.inARow, ref)
}
