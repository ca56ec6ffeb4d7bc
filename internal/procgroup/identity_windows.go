package procgroup

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/windows"
)

func identify(pid int) (Identity, error) {
	const access = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE
	process, err := windows.OpenProcess(access, false, uint32(pid)) //nolint:gosec // a number that none has finds none
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w (%w)", pid, fs.ErrNotExist, err)
	}
	defer func() { _ = windows.CloseHandle(process) }()
	if event, err := windows.WaitForSingleObject(process, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return Identity{}, fmt.Errorf("process %d: it has ended: %w", pid, fs.ErrNotExist)
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &created, &exited, &kernel, &user); err != nil {
		return Identity{}, fmt.Errorf("process %d: read its start time: %w", pid, err)
	}
	return Identity{PID: pid, StartTime: uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime)}, nil
}
