//go:build !windows

package procgroup

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a process group. Its number stays ours until the leader is reaped.
type group struct{ leader int }

func newGroupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func newGroup(leader *os.Process) group { return group{leader: leader.Pid} }

// terminate asks the whole group to end, stopped processes too.
func (g group) terminate() {
	g.signal(unix.SIGTERM)
	g.signal(unix.SIGCONT)
}

func (g group) kill() { g.signal(unix.SIGKILL) }

// signal has no error to return: while the leader is not reaped, the group
// exists, and what may not be signalled in it (macOS: what has ended) is not
// ours to end.
func (g group) signal(signal unix.Signal) { _ = unix.Kill(-g.leader, signal) }

func (g group) close() {}

// terminate and kill signal the group of a process that was started as its leader,
// if that very process still runs: else its number may be another one's.
func (i Identity) terminate() { i.signal(unix.SIGTERM) }
func (i Identity) kill()      { i.signal(unix.SIGKILL) }

func (i Identity) signal(signal unix.Signal) {
	if i.Alive() {
		_ = unix.Kill(-i.PID, signal) // fails if it has just ended
	}
}

func signalName(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return unix.SignalName(status.Signal())
}

func useShell(cmd *exec.Cmd, line string) { cmd.Args = []string{cmd.Args[0], "-c", line} }

func sameVariable(a, b string) bool { return a == b }
