// Package testproc gives a test a process that it may kill: its own program again,
// in a role that its TestMain takes. Nothing but tests uses it.
package testproc

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Process is a test program in a role.
type Process struct {
	// Said is the first line that it wrote to stdout, without the end of the line.
	Said string
	cmd  *exec.Cmd
}

// Start starts the program of the test with one more variable in its environment,
// and returns once it has written a line. A program whose TestMain takes no such
// role runs no test. The process writes to the stderr of the test, and is killed
// when ctx ends; the caller has to call Kill in any case.
func Start(ctx context.Context, variable, value string) (*Process, error) {
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), variable+"="+value)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the process with %s: %w", variable, err)
	}
	p := &Process{cmd: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("the process with %s ended and said only %q: %w", variable, line, err)
	}
	p.Said = strings.TrimRight(line, "\r\n")
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill is SIGKILL, and returns when the process has ended: nothing of it runs after
// that. A second call does nothing more.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // killed: it is an error, and meant to be
}
