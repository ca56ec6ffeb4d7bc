package bench

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Resident returns the bytes of memory that this process has in use, as the
// system counts them; where it does not say, what the Go runtime has taken.
func Resident() uint64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(raw)); err == nil && len(fields) > 1 {
		if pages, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
			return pages * uint64(os.Getpagesize()) //nolint:gosec // a page has a size above zero
		}
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Sys
}
