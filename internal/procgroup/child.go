package procgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// drainWait is how long a pipe may stay silent after the group has ended. By
// then only a process that escaped can hold it open.
const drainWait = time.Second

// child is one running command.
type child struct {
	spec    Spec
	cmd     *exec.Cmd
	group   group
	marker  string
	stdin   *os.File
	stdout  *stream
	stderr  *stream
	note    *note
	started time.Time
	took    time.Duration

	exited chan struct{} // closed when the leader has ended, before it is reaped
	ended  chan struct{} // closed when the whole group has ended
	quiet  chan struct{} // closed when the leader has ended and both streams are closed
	fed    chan struct{} // closed when nobody writes to stdin any more
}

// start starts the command and the goroutines that serve it; finish ends them.
func start(spec Spec) (*child, error) {
	marker := newMarker()
	cmd, err := command(spec, marker)
	if err != nil {
		return nil, &StartError{Command: program(spec), Err: err}
	}
	c := &child{
		spec: spec, cmd: cmd, marker: marker, started: now(),
		exited: make(chan struct{}), ended: make(chan struct{}), quiet: make(chan struct{}), fed: make(chan struct{}),
	}
	if spec.Ledger != "" {
		if c.note, err = openNote(spec.Ledger, marker); err != nil {
			return nil, err
		}
	}
	if err := c.launch(); err != nil {
		return nil, &StartError{Command: program(spec), Err: errors.Join(err, c.forget())}
	}
	c.serve()
	return c, nil
}

// forget removes the note of the command, if it has one.
func (c *child) forget() error {
	if c.note == nil {
		return nil
	}
	return c.note.close()
}

// launch makes the pipes and starts the process. It leaves no file open that is
// not needed any more, whether it succeeds or not.
func (c *child) launch() error {
	var pipes pipes
	defer pipes.closeTheirs()
	c.cmd.Stdin, c.stdin = pipes.toChild()
	var stdout, stderr *os.File
	c.cmd.Stdout, stdout = pipes.fromChild()
	c.cmd.Stderr, stderr = pipes.fromChild()
	if pipes.err == nil {
		pipes.err = c.cmd.Start()
	}
	if pipes.err != nil {
		pipes.closeOurs()
		return pipes.err
	}
	output := &output{listener: c.spec.OnOutput, ended: c.ended}
	c.stdout = newStream("stdout", stdout, output, c.spec.MaxOutput)
	c.stderr = newStream("stderr", stderr, output, c.spec.MaxOutput)
	c.group = newGroup(c.cmd.Process)
	return nil
}

func (c *child) serve() {
	var readers sync.WaitGroup
	readers.Go(c.stdout.read)
	readers.Go(c.stderr.read)
	go func() {
		defer close(c.fed)
		defer c.stdin.Close()
		_, _ = c.stdin.Write(c.spec.Stdin) // EPIPE: the command does not want it
	}()
	go func() {
		c.group.awaitExit()
		close(c.exited)
		readers.Wait()
		close(c.quiet)
	}()
	if c.spec.OnStart == nil && c.note == nil {
		return
	}
	identity, _ := Identify(c.cmd.Process.Pid) // documented: zero when it is too late
	if c.note != nil {
		_ = c.note.started(identity) // without it the marker is what is left to find it by
	}
	if c.spec.OnStart != nil {
		c.spec.OnStart(identity)
	}
}

// await waits until the leader has ended by itself, or until it should be
// killed. In the second case it returns the cause.
func (c *child) await(ctx context.Context) error {
	select {
	case <-c.exited:
		return nil
	case <-ctx.Done():
	}
	if closed(c.exited) {
		return nil // both at once: the command did its work
	}
	c.group.terminate()
	grace := c.spec.TermGrace
	if grace <= 0 {
		grace = DefaultTermGrace
	}
	timer := newTimer(grace)
	defer timer.Stop()
	select {
	case <-c.quiet:
	case <-timer.C:
	}
	return context.Cause(ctx)
}

// finish kills what is left of the group, reaps the leader and waits for all
// goroutines of start.
func (c *child) finish() error {
	c.group.kill()
	<-c.exited
	killMarked(c.marker)
	err := c.cmd.Wait()
	c.group.close()
	close(c.ended)
	c.stdout.expectEnd()
	c.stderr.expectEnd()
	_ = c.stdin.Close() // for a writer that an escaped process keeps waiting
	<-c.fed
	<-c.quiet
	c.took = since(c.started)
	_ = c.forget() // a note of a command that is gone harms nobody
	if exit := new(exec.ExitError); err == nil || errors.As(err, &exit) {
		return nil
	}
	return fmt.Errorf("wait for %q: %w", program(c.spec), err)
}

func (c *child) result() Result {
	r := Result{StartedAt: c.started, Duration: c.took}
	r.Stdout, r.StdoutTruncated = c.stdout.text()
	r.Stderr, r.StderrTruncated = c.stderr.text()
	if state := c.cmd.ProcessState; state != nil {
		r.Signal = signalName(state)
		if code := state.ExitCode(); r.Signal == "" && code >= 0 {
			r.ExitCode = &code
		}
	}
	return r
}

func closed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
