// Command pullrequest merges pull requests: a controller that observes them, starts
// reviews and repairs, waits for checks, and merges what is approved at the commit
// that was approved. It tells its story against a GitHub that it makes itself, with
// no network and no credentials:
//
//	go run ./examples/pullrequest
//
// README.md says what there is to see, and what to change for the real GitHub.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := story(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pullrequest:", err)
		os.Exit(1)
	}
}

// story plays the story in a folder that is gone afterwards.
func story(ctx context.Context, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "pullrequest-")
	if err != nil {
		return fmt.Errorf("make a folder for the story: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	return tell(ctx, out, folder, slog.New(slog.DiscardHandler))
}
