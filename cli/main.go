package cli

import (
	"context"
	"os"
	"os/signal"
)

// Main is the main function of a program: it runs the command that the
// arguments of the process name and returns the exit code. The first signal to
// stop lets the command end cleanly, the second ends the process at once.
func Main(o Options) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	return New(o).Execute(ctx, os.Args[1:])
}

// interruptible returns a context that the first signal ends, so that the
// command stops cleanly. The second ends the process at once.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	for _, s := range stopSignals {
		// What a parent such as nohup had ignored stays ignored.
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel(ErrInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
