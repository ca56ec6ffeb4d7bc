package host

import (
	"context"

	"piworkflows/engine"
)

// processes is the folder in which the commands of the runs of this store are noted
// while they are under way.
func (o Options) processes() string { return o.Store + processFolder }

const processFolder = ".processes"

// endLeftovers ends the commands that killed processes of this store left, before
// the runs that started them go on; with own also those of this process. What
// cannot be ended is told: to wait for it would help nobody.
func (o Options) endLeftovers(ctx context.Context, own bool) {
	ended, err := engine.EndLeftovers(o.processes(), own)
	if ended > 0 {
		o.Logger.WarnContext(ctx, "ended commands that were left", "commands", ended)
	}
	if err != nil {
		o.Logger.ErrorContext(ctx, "commands that were left are not ended", "error", err)
	}
}
