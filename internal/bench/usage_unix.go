//go:build unix

package bench

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time that this process has used so far, in user
// and in system mode; zero where the system does not say.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
