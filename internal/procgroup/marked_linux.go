package procgroup

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// markedRounds times markedPause bounds the wait for killed processes; one
	// that hangs in the kernel longer is left to die alone.
	markedRounds = 1000
	markedPause  = 2 * time.Millisecond
	// unsureCost is how many rounds one counts for in which there were only
	// processes of unknown environment: that state is short.
	unsureCost = 20
	// environmentSize is more than environments have; it is read in one call,
	// because between two calls a process may change its program.
	environmentSize = 256 << 10
)

// marking is what is known of a process.
type marking int

const (
	unmarked marking = iota
	marked
	// unsure: the process is just changing its program, or ending.
	unsure
)

// hunt is the search for the processes with one marker.
type hunt struct {
	marker []byte
	buffer []byte
}

// killMarked kills the processes whose environment has the marker, until there
// are none: one that is being killed may still start another.
func killMarked(marker string) {
	h := hunt{marker: []byte(marker), buffer: make([]byte, environmentSize)}
	for left := markedRounds; left > 0; left-- {
		switch h.round() {
		case unmarked:
			return
		case unsure:
			left -= unsureCost - 1
		case marked:
		}
		time.Sleep(markedPause) //nolint:forbidigo // the kernel sends no signal when a stranger has died
	}
}

// round reports whether it found any, or may have missed one.
func (h *hunt) round() (found marking) {
	proc, err := os.Open("/proc")
	if err != nil {
		return unmarked
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		switch h.look(pid) {
		case marked:
			h.kill(pid)
			found = marked
		case unsure:
			if found == unmarked {
				found = unsure
			}
		case unmarked:
		}
	}
	return found
}

// kill looks again with the process in hand, because its number may have been
// given to another one since.
func (h *hunt) kill(pid int) {
	process, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = process.Release() }()
	if h.look(pid) == marked {
		_ = process.Kill() // fails if it has ended
	}
}

// look says unmarked of processes of other users, whose environment we cannot
// read, and of those that have ended, which have none.
func (h *hunt) look(pid int) marking {
	env, err := readOnce("/proc/"+strconv.Itoa(pid)+"/environ", h.buffer)
	hidden := len(env) == 0 && err == nil || errors.Is(err, unix.ESRCH)
	switch {
	case hidden && h.inTransit(pid):
		return unsure
	case hasMarker(env, h.marker):
		return marked
	default:
		return unmarked
	}
}

// readOnce reads a file with one call, and as few others as can be: it runs for
// every process of the machine whenever a command ends.
func readOnce(path string, buffer []byte) ([]byte, error) {
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // look only asks which error it is
	}
	size, err := unix.Read(file, buffer)
	_ = unix.Close(file)
	return buffer[:max(0, size)], err //nolint:wrapcheck // as above
}

func hasMarker(env, marker []byte) bool {
	if !bytes.Contains(env, marker) {
		return false // nearly always, without a closer look
	}
	for variable := range bytes.SplitSeq(env, []byte{0}) {
		name, value, _ := bytes.Cut(variable, []byte("="))
		if string(name) == MarkerVariable && bytes.Contains(value, marker) {
			return true
		}
	}
	return false
}

// kernelThread is PF_KTHREAD, a bit of the flags in /proc/PID/stat.
const kernelThread = 0x00200000

// inTransit reports whether a process that shows no environment is about to show
// one or to end. While a process starts another program the kernel shows none
// for a moment: the old one is gone, the new one is not placed yet. And a killed
// process loses its memory before its files, which it may hold locks on.
func (h *hunt) inTransit(pid int) bool {
	stat, err := readOnce("/proc/"+strconv.Itoa(pid)+"/stat", h.buffer)
	if err != nil {
		return false
	}
	fields, err := statFields(stat)
	if err != nil || hasEnded(fields) {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[fieldFlags]), 10, 64)
	if err != nil || flags&kernelThread != 0 {
		return false
	}
	// The kernel fills in the code last: before, the other fields mean nothing.
	placed := string(fields[fieldStartCode]) != "0"
	return !placed || !bytes.Equal(fields[fieldEnvStart], fields[fieldEnvEnd])
}
