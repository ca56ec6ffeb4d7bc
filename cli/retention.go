package cli

import (
	"time"

	"github.com/spf13/cobra"

	"piworkflows/host"
)

// keepFlags say what retention keeps, for the commands that remove the rest.
type keepFlags struct{ eventDays, eventCount, runDays, runGiB int }

const (
	day = 24 * time.Hour
	gib = 1 << 30
	// maxKeep bounds the flags, so that no product of one is too large.
	maxKeep = 36_500
)

func (f *keepFlags) register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.IntVar(&f.eventDays, "keep-events", int(host.DefaultKeepEvents/day), "keep events, and what was tried, for `days`; -1 for ever")
	set.IntVar(&f.eventCount, "keep-events-each", host.DefaultEventsOfResource, "keep at most `n` events of a resource; -1 is all")
	set.IntVar(&f.runDays, "keep-runs", int(host.DefaultKeepRuns/day), "keep runs that are over for `days`; -1 for ever")
	set.IntVar(&f.runGiB, "keep-runs-gib", host.DefaultRunBytes/gib, "keep at most `n` GiB of such runs; -1 is any size")
}

func (f *keepFlags) check(cmd *cobra.Command) error {
	for name, n := range map[string]int{
		"keep-events": f.eventDays, "keep-events-each": f.eventCount, "keep-runs": f.runDays, "keep-runs-gib": f.runGiB,
	} {
		if n < -1 || n > maxKeep {
			return wrongUsage(cmd, "--%s %d is not between -1 and %d", name, n, maxKeep)
		}
	}
	return nil
}

// retention returns what the flags mean. Nothing that happens now is kept for zero
// days.
func (f *keepFlags) retention() host.Retention {
	return host.Retention{
		Events: keep(f.eventDays, day), EventsOfResource: keep(f.eventCount, 1),
		Runs: keep(f.runDays, day), RunBytes: int64(keep(f.runGiB, gib)),
	}
}

// keep is a bound that is meant also if it is zero, which is the default
// elsewhere.
func keep[T int | time.Duration](n int, unit T) T {
	switch n {
	case -1:
		return host.Forever
	case 0:
		return 1
	default:
		return T(n) * unit
	}
}
