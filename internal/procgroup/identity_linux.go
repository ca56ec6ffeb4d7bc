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
	firstField     = 3
	fieldState     = 3 - firstField
	fieldFlags     = 9 - firstField
	fieldStartTime = 22 - firstField
	fieldStartCode = 26 - firstField
	fieldEnvStart  = 50 - firstField
	fieldEnvEnd    = 51 - firstField
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
