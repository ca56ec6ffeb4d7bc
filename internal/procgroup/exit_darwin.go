package procgroup

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the leader has ended and leaves it to be reaped. It
// asks a kernel queue: waitid would also return when the process is stopped.
func (g group) awaitExit() {
	queue, err := unix.Kqueue()
	if err != nil {
		return // the group is killed early; better than a group that outlives us
	}
	defer func() { _ = unix.Close(queue) }()
	unix.CloseOnExec(queue)
	var exit unix.Kevent_t
	unix.SetKevent(&exit, g.leader, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	exit.Fflags = unix.NOTE_EXIT
	events := make([]unix.Kevent_t, 1)
	changes := []unix.Kevent_t{exit}
	for {
		// An error for a process that has already ended is an event, too.
		if _, err := unix.Kevent(queue, changes, events, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
