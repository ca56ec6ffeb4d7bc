//go:build !windows

package procgroup

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var errStop = errors.New("stop")

// outcome is the part of a Result that does not depend on time.
var outcome = cmpopts.IgnoreFields(Result{}, "StartedAt", "Duration")

func TestRun(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		spec Spec
		want Result
	}{
		{"success", script("echo out; echo err >&2"), Result{Stdout: "out\n", Stderr: "err\n", ExitCode: new(0)}},
		{"exit code", script("exit 3"), Result{ExitCode: new(3)}},
		{"killed by somebody else", script("kill -KILL $$"), Result{Signal: "SIGKILL"}},
		{"arguments", Spec{Command: "printf", Args: []string{"%s|", "a b", "", "$x"}}, Result{Stdout: "a b||$x|", ExitCode: new(0)}},
		{"folder", Spec{Command: "pwd", Dir: dir}, Result{Stdout: dir + "\n", ExitCode: new(0)}},
		{"environment", Spec{Command: "/bin/sh", Args: []string{"-c", "echo $A$HOME"}, Env: []string{"A=1", "A=2"}},
			Result{Stdout: "2\n", ExitCode: new(0)}},
		{"stdin", Spec{Command: "cat", Stdin: []byte("some text")}, Result{Stdout: "some text", ExitCode: new(0)}},
		{"no stdin", Spec{Command: "cat"}, Result{ExitCode: new(0)}},
		{"stdin that nobody reads", Spec{Command: "true", Stdin: make([]byte, 1<<20)}, Result{ExitCode: new(0)}},
		{"shell", Spec{Shell: "/bin/sh", Command: "echo a |", Args: []string{"tr", "a", "b"}}, Result{Stdout: "b\n", ExitCode: new(0)}},
		{"limit", Spec{Command: "printf", Args: []string{"12345"}, MaxOutput: 4},
			Result{Stdout: "1234" + TruncationMarker, StdoutTruncated: true, ExitCode: new(0)}},
		{"limit of each stream", Spec{Shell: "sh", Command: "printf 1234; printf 12345 >&2", MaxOutput: 4},
			Result{Stdout: "1234", Stderr: "1234" + TruncationMarker, StderrTruncated: true, ExitCode: new(0)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := time.Now()
			got, err := Run(t.Context(), test.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, outcome); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if got.StartedAt.Before(before) || got.Duration <= 0 || got.Duration > time.Since(before) {
				t.Errorf("started at %v for %v", got.StartedAt, got.Duration)
			}
		})
	}
}

func TestLargeOutputOnBothStreams(t *testing.T) {
	t.Parallel()
	const size = 1_500_000
	input := bytes.Repeat([]byte("x"), size)
	spec := script("tee /dev/stderr")
	spec.Stdin = input
	spec.MaxOutput = size
	got, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Stdout) != size || len(got.Stderr) != size || got.StdoutTruncated || got.StderrTruncated {
		t.Errorf("%d and %d characters, want %d", len(got.Stdout), len(got.Stderr), size)
	}
	spec.MaxOutput = 0
	got, err = Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if want := DefaultMaxOutput + len(TruncationMarker); len(got.Stdout) != want || !got.StdoutTruncated {
		t.Errorf("%d bytes by default, want %d", len(got.Stdout), want)
	}
}

// Nothing that was written before the end is lost, however slow the listener.
func TestListener(t *testing.T) {
	t.Parallel()
	var inside atomic.Int32
	seen := map[string]int{}
	spec := script("tee /dev/stderr")
	spec.Stdin = make([]byte, 500_000)
	spec.MaxOutput = 1
	spec.OnOutput = func(stream string, chunk []byte) {
		if inside.Add(1) != 1 {
			t.Error("calls overlap")
		}
		seen[stream] += len(chunk)
		inside.Add(-1)
	}
	if _, err := Run(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"stdout": 500_000, "stderr": 500_000}, seen); diff != "" {
		t.Errorf("bytes seen (-want +got):\n%s", diff)
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	mark := filepath.Join(t.TempDir(), "mark")
	got, err := Run(ctx, Spec{Command: "touch", Args: []string{mark}})
	if diff := cmp.Diff(Result{}, got); diff != "" || !errors.Is(err, errStop) {
		t.Errorf("result %s, error %v", diff, err)
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the command ran")
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	const loop = `echo ready; while :; do sleep 0.01; done`
	tests := []struct {
		name, script string
		grace        time.Duration
		want         Result
	}{
		{"plain", loop, time.Minute, Result{Stdout: "ready\n", Signal: "SIGTERM"}},
		{"SIGTERM handled", `trap "echo bye; exit 4" TERM;` + loop, time.Minute, Result{Stdout: "ready\nbye\n", ExitCode: new(4)}},
		{"SIGTERM ignored", `trap "" TERM;` + loop, time.Millisecond, Result{Stdout: "ready\n", Signal: "SIGKILL"}},
		{"SIGTERM ignored, default grace", `trap "" TERM;` + loop, 0, Result{Stdout: "ready\n", Signal: "SIGKILL"}},
		{"stopped", `echo ready; kill -STOP $$; echo awake; exit 5`, time.Minute, Result{Stdout: "ready\n", Signal: "SIGTERM"}},
		{
			"the grace is for the whole group, not for its leader",
			`sh -c 'trap "sleep 0.05; echo cleaned; exit" TERM; ` + loop + `' & wait`,
			time.Minute, Result{Stdout: "ready\ncleaned\n", Signal: "SIGTERM"},
		},
		{
			"a background process that ignores SIGTERM",
			`sh -c 'trap "" TERM; ` + loop + `' & wait`,
			time.Millisecond, Result{Stdout: "ready\n", Signal: "SIGTERM"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			spec := script(test.script)
			spec.TermGrace = test.grace
			spec.OnOutput = func(string, []byte) { cancel(errStop) }
			got, err := Run(ctx, spec)
			if !errors.Is(err, errStop) {
				t.Errorf("error %v, want the cause", err)
			}
			got.Stderr = "" // shells may say there that a child was terminated
			if diff := cmp.Diff(test.want, got, outcome); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// However the command ends, what it left in the background is gone.
func TestBackgroundProcessesDieWithTheirCommand(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"holding the streams": `sleep 1000 & echo $!`,
		"detached":            `sleep 1000 </dev/null >/dev/null 2>&1 & echo $!`,
		"deaf":                `sh -c 'trap "" TERM HUP; sleep 1000; sleep 1000' & echo $!`,
		"leader killed":       `sleep 1000 & echo $!; kill -KILL $$`,
		"leader failed":       `sleep 1000 & echo $!; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Run(t.Context(), script(command))
			if err != nil {
				t.Fatal(err)
			}
			wantGone(t, got.Stdout)
		})
	}
}

// The number of the group stays ours until it is killed: the leader has ended
// and can be signalled still.
func TestLeaderIsNotReapedBeforeItsGroupIsKilled(t *testing.T) {
	t.Parallel()
	c, err := start(script("exit 0"))
	if err != nil {
		t.Fatal(err)
	}
	<-c.exited
	if c.cmd.ProcessState != nil {
		t.Error("the leader was reaped")
	}
	if err := exec.Command("kill", "-0", "--", "-"+strconv.Itoa(c.group.leader)).Run(); err != nil {
		t.Errorf("the group is gone: %v", err)
	}
	if err := c.finish(); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("kill", "-0", "--", "-"+strconv.Itoa(c.group.leader)).Run(); err == nil {
		t.Error("the group is still there")
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		spec    Spec
		command string
		want    error
	}{
		{"nothing", Spec{}, "", exec.ErrNotFound},
		{"unknown name", Spec{Command: "no-such-command"}, "no-such-command", exec.ErrNotFound},
		{"not in the given PATH", Spec{Command: "sh", Env: []string{"PATH=" + dir}}, "sh", exec.ErrNotFound},
		{"no PATH", Spec{Command: "sh", Env: []string{}}, "sh", exec.ErrNotFound},
		{"unknown path", Spec{Command: filepath.Join(dir, "missing")}, filepath.Join(dir, "missing"), fs.ErrNotExist},
		{"not executable", Spec{Command: plain}, plain, fs.ErrPermission},
		{"unknown folder", Spec{Command: "true", Dir: filepath.Join(dir, "missing")}, "true", fs.ErrNotExist},
		{"unknown shell", Spec{Command: "true", Shell: "no-such-shell"}, "no-such-shell", exec.ErrNotFound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Run(t.Context(), test.spec)
			var start *StartError
			if !errors.As(err, &start) || start.Command != test.command || !errors.Is(err, test.want) {
				t.Fatalf("error %v, want a StartError of %q: %v", err, test.command, test.want)
			}
			if !strings.Contains(err.Error(), test.command) {
				t.Errorf("message %q does not name the command", err)
			}
		})
	}
}

// A program is found as the shell of the user would find it there.
func TestWhereProgramsAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "tool")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho mine\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]Spec{
		"in the given PATH":      {Command: "tool", Env: []string{"PATH=relative:/no-such-folder:" + dir}},
		"relative to the folder": {Command: "./tool", Dir: dir},
	} {
		got, err := Run(t.Context(), spec)
		if err != nil || got.Stdout != "mine\n" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	_, err := Run(t.Context(), Spec{Command: "tool", Dir: dir, Env: []string{"PATH=.:"}})
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("through a relative PATH: %v", err)
	}
}

func TestIdentityOfACommand(t *testing.T) {
	t.Parallel()
	var identity Identity
	wasAlive := false
	asked := make(chan struct{})
	// More than fits into the pipes: it cannot end before it was looked at.
	spec := Spec{Command: "cat", Stdin: make([]byte, 4<<20)}
	spec.OnOutput = func(string, []byte) { <-asked }
	spec.OnStart = func(started Identity) {
		identity, wasAlive = started, started.Alive()
		close(asked)
	}
	if _, err := Run(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if !wasAlive || identity.Alive() || identity.PID == 0 || identity.StartTime == 0 {
		t.Errorf("%+v: alive at start %v, after the end %v", identity, wasAlive, identity.Alive())
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := Run(b.Context(), Spec{Command: "true"}); err != nil {
			b.Fatal(err)
		}
	}
}

func script(text string) Spec { return Spec{Command: "sh", Args: []string{"-c", text}} }

// wantGone checks that a process whose number a command printed has ended.
func wantGone(t *testing.T, printed string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(printed))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := Identify(pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("process %+v is alive, %v", found, err)
	}
}
