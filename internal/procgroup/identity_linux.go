package procgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

var bootID = sync.OnceValues(func() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot ID: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
})

// Fields of /proc/PID/stat behind the name, which is field 2 (proc(5)).
const (
	fieldState     = 3 - 3
	fieldFlags     = 9 - 3
	fieldStartTime = 22 - 3
	fieldStartCode = 26 - 3
	fieldEnvStart  = 50 - 3
	fieldEnvEnd    = 51 - 3
)

func identify(pid int) (Identity, error) {
	if pid <= 0 {
		return Identity{}, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
	}
	boot, err := bootID()
	if err != nil {
		return Identity{}, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, unix.ESRCH) {
		err = fs.ErrNotExist // it ended between open and read
	}
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	start, err := startTime(stat)
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return Identity{BootID: boot, PID: pid, StartTime: start}, nil
}

// startTime reads the start time of a process that has not ended.
func startTime(stat []byte) (uint64, error) {
	fields, err := statFields(stat)
	if err != nil {
		return 0, err
	}
	if hasEnded(fields) {
		return 0, fmt.Errorf("it has ended: %w", fs.ErrNotExist)
	}
	start, err := strconv.ParseUint(string(fields[fieldStartTime]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("unknown format of its start time: %w", err)
	}
	return start, nil
}

// statFields returns the fields from the third on.
func statFields(stat []byte) ([][]byte, error) {
	// The name is in parentheses and may itself hold parentheses and spaces.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= fieldEnvEnd {
		return nil, fmt.Errorf("unknown format of its stat file: %.100q", stat)
	}
	return fields, nil
}

// hasEnded reports whether the process only waits to be reaped.
func hasEnded(fields [][]byte) bool {
	state := fields[fieldState][0]
	return state == 'Z' || state == 'X'
}
