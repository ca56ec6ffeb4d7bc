package procgroup

import "time"

// Processes live in the time of the machine, and the ground cannot import the
// clock of the rooms above. Whoever needs another time cancels the context.

func now() time.Time { return time.Now() } //nolint:forbidigo // see above

func since(start time.Time) time.Duration { return time.Since(start) } //nolint:forbidigo // see above

func newTimer(d time.Duration) *time.Timer { return time.NewTimer(d) } //nolint:forbidigo // see above
