package procgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object with the leader in it. Without a job, which very old
// or very restricted systems refuse, it is the leader alone.
type group struct {
	leader *os.Process
	job    windows.Handle
}

func newGroupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func newGroup(leader *os.Process) group {
	g := group{leader: leader}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	// The job ends with its last handle, so it ends with us at the latest.
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	//nolint:gosec // the call takes the address and the size of its argument
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		handleErr := leader.WithHandle(func(handle uintptr) {
			err = windows.AssignProcessToJobObject(job, windows.Handle(handle))
		})
		if handleErr == nil && err == nil {
			g.job = job
			return g
		}
	}
	_ = windows.CloseHandle(job)
	return g
}

// terminate kills: Windows has no signal that asks.
func (g group) terminate() { g.kill() }

func (g group) kill() {
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
		return
	}
	_ = g.leader.Kill()
}

func (g group) awaitExit() {
	_ = g.leader.WithHandle(func(handle uintptr) {
		_, _ = windows.WaitForSingleObject(windows.Handle(handle), windows.INFINITE)
	})
}

func (g group) close() {
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
	}
}

func signalName(*os.ProcessState) string { return "" }

// useShell passes the line to cmd.exe as it is, which does not split arguments
// as other programs do; other shells get it as one argument.
func useShell(cmd *exec.Cmd, line string) {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(cmd.Args[0])), ".exe")
	if name == "cmd" {
		cmd.SysProcAttr.CmdLine = `cmd.exe /d /s /c "` + line + `"`
		return
	}
	cmd.Args = []string{cmd.Args[0], "-c", line}
}

func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }

// terminate does nothing: Windows has no signal that asks. A job ends with the
// process that has it, so that a kill finds something only where there was no job.
func (i Identity) terminate() {}

func (i Identity) kill() {
	if !i.Alive() {
		return
	}
	if process, err := os.FindProcess(i.PID); err == nil {
		_ = process.Kill()
		_ = process.Release()
	}
}
