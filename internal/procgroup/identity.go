package procgroup

// Identity names one process for all time. A number alone does not: it is given
// to another process later, and all numbers start again with the machine.
type Identity struct {
	// BootID is the kernel's ID of this start of the machine; empty on Windows,
	// where the start time is enough.
	BootID string `json:"bootId"`
	// PID is the process number, which is also that of its group.
	PID int `json:"pid"`
	// StartTime is when the process started, in a unit of the operating system:
	// clock ticks since the boot (Linux), microseconds (macOS) or 100 ns
	// (Windows) since their epochs.
	StartTime uint64 `json:"startTime"`
}

// Identify returns the identity of a process that runs now. For one that does
// not, or that waits to be reaped, the error is an fs.ErrNotExist.
func Identify(pid int) (Identity, error) { return identify(pid) }

// Alive reports whether that very process still runs. A process that has ended
// and waits to be reaped does not. A zero identity is never alive.
func (i Identity) Alive() bool {
	present, err := Identify(i.PID)
	return err == nil && present == i
}
