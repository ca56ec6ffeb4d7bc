package procgroup

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the leader has ended and leaves it to be reaped.
func (g group) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, g.leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return // any other error: there is no such child to wait for
		}
	}
}
