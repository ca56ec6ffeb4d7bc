package host_test

import (
	"context"
	"sync"
	"time"

	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/lease"
	"piworkflows/runqueue"
)

// faulty is the real store, of which the operations on runs fail when a test
// wants it.
type faulty struct {
	host.Store
	mu   sync.Mutex
	fail func(op string) error
}

// failing makes a world's host work on a store that asks fail before each
// operation on runs.
func (w *world) failing(fail func(op string) error) *faulty {
	return &faulty{Store: w.store, fail: fail}
}

// times fails the first n calls of one operation.
func times(n int, op string, err error) func(string) error {
	return func(o string) error {
		if o != op || n == 0 {
			return nil
		}
		n--
		return err
	}
}

func (f *faulty) ask(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail(op)
}

func (f *faulty) ClaimRun(ctx context.Context, q runqueue.ClaimQuery, d time.Duration) (*runqueue.Claim, error) {
	if err := f.ask("ClaimRun"); err != nil {
		return nil, err
	}
	return f.Store.ClaimRun(ctx, q, d)
}

func (f *faulty) ClaimWorkers(ctx context.Context, token lease.Token, d time.Duration) (runqueue.Workers, error) {
	if err := f.ask("ClaimWorkers"); err != nil {
		return runqueue.Workers{}, err
	}
	return f.Store.ClaimWorkers(ctx, token, d)
}

func (f *faulty) Claim(ctx context.Context, controllers []string, d time.Duration) (*controller.Claim, error) {
	if err := f.ask("Claim"); err != nil {
		return nil, err
	}
	return f.Store.Claim(ctx, controllers, d)
}

func (f *faulty) StartChild(ctx context.Context, c *runqueue.Claim) error {
	if err := f.ask("StartChild"); err != nil {
		return err
	}
	return f.Store.StartChild(ctx, c)
}

func (f *faulty) CountAgentAttempt(ctx context.Context, c *runqueue.Claim) (time.Duration, error) {
	if err := f.ask("CountAgentAttempt"); err != nil {
		return 0, err
	}
	return f.Store.CountAgentAttempt(ctx, c)
}

func (f *faulty) FinishChild(ctx context.Context, c *runqueue.Claim, o controller.ChildOutcome) error {
	if err := f.ask("FinishChild"); err != nil {
		return err
	}
	return f.Store.FinishChild(ctx, c, o)
}

func (f *faulty) CheckRun(ctx context.Context, c *runqueue.Claim) error {
	if err := f.ask("CheckRun"); err != nil {
		return err
	}
	return f.Store.CheckRun(ctx, c)
}

func (f *faulty) FinishRun(ctx context.Context, c *runqueue.Claim, s runqueue.Status, message string) error {
	if err := f.ask("FinishRun"); err != nil {
		return err
	}
	return f.Store.FinishRun(ctx, c, s, message)
}

func (f *faulty) AwaitAnswer(ctx context.Context, c *runqueue.Claim) error {
	if err := f.ask("AwaitAnswer"); err != nil {
		return err
	}
	return f.Store.AwaitAnswer(ctx, c)
}

func (f *faulty) RenewRun(ctx context.Context, c *runqueue.Claim, d time.Duration) error {
	if err := f.ask("RenewRun"); err != nil {
		return err
	}
	return f.Store.RenewRun(ctx, c, d)
}
