//go:build unix

package docs

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own, and returns what kills it.
func ownGroup(cmd *exec.Cmd) func() error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
