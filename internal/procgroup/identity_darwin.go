package procgroup

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

func identify(pid int) (Identity, error) {
	boot, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return Identity{}, fmt.Errorf("read the boot ID: %w", err)
	}
	if pid <= 0 {
		return Identity{}, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == stateZombie {
		return Identity{}, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
	}
	start := info.Proc.P_starttime
	//nolint:gosec // no process started before 1970
	return Identity{BootID: boot, PID: pid, StartTime: uint64(start.Sec)*1e6 + uint64(start.Usec)}, nil
}
