package oslock

import (
	"context"
	"errors"
	"time"
)

// A process that is killed while it starts another leaves a copy of itself,
// with its locks, until that copy has become the other program. It takes
// milliseconds; Patiently waits for it up to linger.
const (
	linger = 2 * time.Second
	again  = 10 * time.Millisecond
)

// Patiently calls take until its error is no ErrHeld, for two seconds at most.
// It is for whoever has reason to believe that the holder is dead. An ended ctx
// ends the wait; the last error comes back either way.
func Patiently(ctx context.Context, take func() error) error {
	end := time.After(linger) //nolint:forbidigo // the system forks in real time
	for {
		err := take()
		if !errors.Is(err, ErrHeld) {
			return err
		}
		select {
		case <-time.After(again): //nolint:forbidigo // see above
		case <-end:
			return err
		case <-ctx.Done():
			return err
		}
	}
}
