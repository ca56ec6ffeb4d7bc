package bench

import (
	"syscall"
	"time"
)

// CPUTime returns the processor time that this process has used so far, in user
// and in system mode; zero where the system does not say.
func CPUTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	return ticks(kernel) + ticks(user)
}

// ticks reads a duration, which Windows counts in 100 nanoseconds.
func ticks(t syscall.Filetime) time.Duration {
	const tick = 100 * time.Nanosecond
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * tick
}
