//go:build unix

package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piworkflows/engine"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
	"piworkflows/workflow"
)

func shell(c workflow.Command) workflow.Shell {
	return workflow.Shell{ID: "a", Exec: func(context.Context, *workflow.Context) (workflow.Command, error) { return c, nil }}
}

func sh(script string, args ...string) workflow.Command {
	return workflow.Command{Command: "/bin/sh", Args: append([]string{"-c", script, "sh"}, args...)}
}

func TestCommandResult(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := sh(`read line; echo "$line, $1"; echo problem >&2; exit 3`, "<arg>")
	c.Stdin, c.Dir, c.AllowFailure = "from stdin\nmore", dir, true
	r := newRig(t)
	result, b := r.run(flow(shell(c)))
	r.want(result, runbundle.Completed, "", "")
	var got workflow.CommandResult
	if err := json.Unmarshal(result.FinalOutput, &got); err != nil {
		t.Fatal(err)
	}
	if got.Command != c.Command || got.Args[3] != "<arg>" || got.Dir != dir || got.Stdout != "from stdin, <arg>\n" ||
		got.Stderr != "problem\n" || *got.ExitCode != 3 || got.Signal != nil || got.Truncated {
		t.Errorf("result %s", result.FinalOutput)
	}
	receipt := b.State.Steps[0].Action
	if receipt.ActionType != runbundle.ActionShell || receipt.Command != c.Command || *receipt.ExitCode != 3 || receipt.Dir != dir ||
		receipt.Signal != nil || receipt.DurationMs != got.DurationMs {
		t.Errorf("receipt %+v", receipt)
	}
}

func TestCommandEnds(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	allowed := sh("kill -9 $$")
	allowed.AllowFailure = true
	capped := sh("echo 0123456789")
	capped.MaxOutput = 4
	viaShell := workflow.Command{Command: "echo one; exit 0", Shell: "/bin/sh"}
	broken := shell(sh("echo out"))
	broken.Parse = func(context.Context, *workflow.Context, workflow.CommandResult) (any, error) {
		return nil, errors.New("cannot parse")
	}
	parsed := shell(sh("echo 7"))
	parsed.Parse = func(_ context.Context, _ *workflow.Context, r workflow.CommandResult) (any, error) {
		return strconv.Atoi(strings.TrimSpace(r.Stdout))
	}
	refuses := shell(workflow.Command{})
	refuses.Exec = func(context.Context, *workflow.Context) (workflow.Command, error) {
		return workflow.Command{}, errors.New("no command today")
	}
	tests := []struct {
		name          string
		node          workflow.Shell
		status        runbundle.Status
		code, message string
		receipt       string // exit code and signal, "" for none
	}{
		{"ok", shell(sh("exit 0")), runbundle.Completed, "", "", "0 -"},
		{"exit code", shell(sh("echo why >&2; exit 7")), runbundle.Failed, "command_failed", `command /bin/sh "-c"`, "7 -"},
		{"stderr", shell(sh("echo why >&2; exit 7")), runbundle.Failed, "command_failed", `exit 7: why`, "7 -"},
		{"signal", shell(sh("kill -9 $$")), runbundle.Failed, "command_failed", "signal SIGKILL", "- SIGKILL"},
		{"allowed signal", shell(allowed), runbundle.Completed, "", "", "- SIGKILL"},
		{"missing program", shell(workflow.Command{Command: "no-such-program-here"}), runbundle.Failed, "node_failed", "no-such-program-here", "- -"},
		{"missing folder", shell(workflow.Command{Command: "/bin/sh", Dir: "/no/such/folder"}), runbundle.Failed, "node_failed", "/bin/sh", "- -"},
		{"exec fails", refuses, runbundle.Failed, "node_failed", "no command today", ""},
		{"parse", parsed, runbundle.Completed, "", "", "0 -"},
		{"parse fails", broken, runbundle.Failed, "node_failed", "cannot parse", "0 -"},
		{"output capped", shell(capped), runbundle.Completed, "", "", "0 -"},
		{"by a shell", shell(viaShell), runbundle.Completed, "", "", "0 -"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			result, b := r.run(flow(test.node))
			r.want(result, test.status, test.code, test.message)
			if got := receipt(b.State.Steps[0]); got != test.receipt {
				t.Errorf("receipt %q, want %q", got, test.receipt)
			}
			if a := b.State.Steps[0].Action; a != nil && !filepath.IsAbs(a.Dir) || a != nil && a.Args == nil {
				t.Errorf("receipt %+v (working directory %s)", a, here)
			}
			switch test.name {
			case "parse":
				if string(result.FinalOutput) != "7" {
					t.Errorf("output %s", result.FinalOutput)
				}
			case "output capped":
				if !strings.Contains(string(result.FinalOutput), `"stdout":"0123\n…`) || !strings.Contains(string(result.FinalOutput), `"truncated":true`) {
					t.Errorf("output %s", result.FinalOutput)
				}
			}
		})
	}
}

// receipt writes exit code and signal of a step as text.
func receipt(s runbundle.Step) string {
	if s.Action == nil {
		return ""
	}
	code, signal := "-", "-"
	if s.Action.ExitCode != nil {
		code = strconv.Itoa(*s.Action.ExitCode)
	}
	if s.Action.Signal != nil {
		signal = *s.Action.Signal
	}
	return code + " " + signal
}

func TestCommandEnvironment(t *testing.T) {
	t.Setenv("ENGINE_TEST_KEPT", "kept")
	t.Setenv("ENGINE_TEST_CHANGED", "old")
	t.Setenv("ENGINE_TEST_REMOVED", "here")
	c := sh(`echo "$ENGINE_TEST_KEPT $ENGINE_TEST_CHANGED ${ENGINE_TEST_REMOVED-gone} $ENGINE_TEST_NEW"`)
	c.Env = map[string]*string{"ENGINE_TEST_CHANGED": new("new"), "ENGINE_TEST_REMOVED": nil, "ENGINE_TEST_NEW": new("a b")}
	r := newRig(t)
	result, _ := r.run(flow(shell(c)))
	if !strings.Contains(string(result.FinalOutput), `"stdout":"kept new gone a b\n"`) {
		t.Errorf("output %s", result.FinalOutput)
	}
}

// What a command does outside must not come before the record that it was begun
// is allowed and synced.
func TestCommandRunsAfterItsStartIsDurable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mark := filepath.Join(t.TempDir(), "mark")
	var log []string
	note := func(what string) {
		if _, err := os.Stat(mark); err == nil {
			what += " after the command"
		}
		log = append(log, what)
	}
	r.options.FS = durable.WithHook(func(op durable.Op, path string) error {
		if filepath.Base(path) == runbundle.TraceFile {
			note(string(op))
		}
		return nil
	})
	r.start.Fence = func(context.Context) error { note("fence"); return nil }
	r.start.Observe = func(e runbundle.Event, v workflow.View) {
		note(string(e.Type))
		r.observe(e, v)
	}
	result, _ := r.run(flow(shell(sh(`echo >"$1"`, mark))))
	r.want(result, runbundle.Completed, "", "")
	want := []string{"node_started", "fence", "sync", "write after the command", "node_finished after the command"}
	if diff := cmp.Diff(want, log[slices.Index(log, "node_started"):][:len(want)]); diff != "" {
		t.Error(diff)
	}
}

// family is a command that starts a process in the background, tells the pids
// of both through a pipe, and lives until it is killed.
func family(t *testing.T) (workflow.Command, func() []int) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "pids")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	return sh(`sleep 1000 & echo $$ $! > "$1"; wait`, fifo), func() []int {
		file, err := os.Open(fifo) // waits for the writer
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		line, err := bufio.NewReader(file).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pids := make([]int, 2)
		if _, err := fmt.Sscan(line, &pids[0], &pids[1]); err != nil {
			t.Fatal(err)
		}
		return pids
	}
}

func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !zombie(pid) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
}

// zombie reports whether a process is dead and only waits to be reaped by the
// init process, which is not ours to time.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// However a command ends, nothing of its group is left when the run goes on.
func TestCommandGroupIsGone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		limits workflow.Limits
		own    time.Duration
		stop   func(r *rig, run *engine.Run)
		status runbundle.Status
		kinds  string
	}{
		{"node deadline", workflow.Limits{Timeout: time.Minute}, 0, func(r *rig, _ *engine.Run) {
			r.clock.await(r.t, time.Minute, 1)
			r.clock.Advance(time.Minute)
		}, runbundle.TimedOut, "node_failed run_timed_out"},
		{"own deadline", workflow.Limits{}, time.Minute, func(r *rig, _ *engine.Run) {
			r.clock.await(r.t, time.Minute, 1)
			r.clock.Advance(time.Minute)
		}, runbundle.TimedOut, "node_failed run_timed_out"},
		{"cancel", workflow.Limits{}, 0, func(_ *rig, run *engine.Run) { run.Cancel() }, runbundle.Cancelled, "node_failed run_cancelled"},
		{"interrupt", workflow.Limits{}, 0, func(_ *rig, run *engine.Run) { run.Interrupt("stop") }, runbundle.Failed, "run_interrupted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			command, pids := family(t)
			command.Timeout = test.own
			node := shell(command)
			node.Limits = test.limits
			r := newRig(t)
			var atEnd []int
			started := make(chan []int, 1)
			r.start.Observe = func(e runbundle.Event, v workflow.View) {
				r.observe(e, v)
				if e.Type == runbundle.EventNodeFailed || e.Type == runbundle.EventRunInterrupted {
					atEnd = <-started
					gone(t, atEnd)
				}
			}
			run := r.begin(flow(node))
			started <- pids()
			test.stop(r, run)
			result, b := r.finish(run)
			if result.Status != test.status || !strings.HasSuffix(kinds(b), "node_started "+test.kinds) {
				t.Errorf("%s after %s", result.Status, kinds(b))
			}
			if test.name != "interrupt" {
				if got := receipt(b.State.Steps[0]); got != "- SIGTERM" {
					t.Errorf("receipt %q", got)
				}
			}
			if len(atEnd) != 2 {
				t.Error("the end was not observed")
			}
		})
	}
}

func TestCommandLeavesNoBackgroundProcess(t *testing.T) {
	t.Parallel()
	command, pids := family(t)
	command.Args[1] = `sleep 1000 >/dev/null 2>&1 & echo $$ $! > "$1"` // and ends
	started := make(chan []int, 1)
	go func() { started <- pids() }()
	r := newRig(t)
	result, _ := r.run(flow(shell(command)))
	r.want(result, runbundle.Completed, "", "")
	gone(t, <-started)
}

// A host that cannot note a command must not start it, and says nothing of the
// command by that: the run stops without an end, and goes on once it can be noted.
func TestACommandThatCannotBeNotedLeavesTheRunOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.ProcessDir = filepath.Join(t.TempDir(), "processes")
	if err := os.WriteFile(r.options.ProcessDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(t.TempDir(), "mark")
	c := sh(`echo >>"$1"`, mark)
	c.AllowFailure = true
	run := r.begin(flow(shell(c)))
	result := run.Wait()
	if result.Status != runbundle.Running || result.Err == nil || !strings.Contains(result.Error, r.options.ProcessDir) {
		t.Errorf("result %+v", result)
	}
	b, err := runbundle.Read(run.Dir())
	if err != nil || b.State.Status != runbundle.Running || len(b.State.Steps) > 0 && b.State.Steps[0].Action != nil {
		t.Errorf("a receipt of the command or an end of the run was left: %v, %+v", err, b.State)
	}
	if err := os.Remove(r.options.ProcessDir); err != nil {
		t.Fatal(err)
	}
	result, _ = r.finish(r.resume(flow(shell(c))))
	r.want(result, runbundle.Completed, "", "")
	if text, err := os.ReadFile(mark); err != nil || string(text) != "\n" {
		t.Errorf("the command ran other than once: %q, %v", text, err)
	}
}
