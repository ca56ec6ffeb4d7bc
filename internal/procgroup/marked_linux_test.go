package procgroup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The scripts start a process in a session of its own and end when it is there.
const (
	escape  = `mkfifo pipe; setsid sh -c 'echo $$ > pipe; exec sleep 1000' & cat pipe`
	twice   = `mkfifo pipe; setsid sh -c 'setsid sh -c "echo \$\$ > pipe; exec sleep 1000" & exit' & cat pipe`
	quietly = `mkfifo pipe; setsid sh -c 'echo $$ > pipe; exec sleep 1000 </dev/null >/dev/null 2>&1' & cat pipe`
	inGroup = `mkfifo pipe; env -i sh -c 'echo $$ > pipe; exec sleep 1000' & cat pipe`
	unknown = `mkfifo pipe; setsid env -i sh -c 'echo $$ > pipe; exec sleep 1000' & cat pipe`
)

func TestProcessesThatLeftTheGroupDie(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"once": escape, "twice": twice, "without streams": quietly} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := script(text)
			spec.Dir = t.TempDir()
			got, err := Run(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			wantGone(t, got.Stdout)
			if got.Duration >= drainWait {
				t.Errorf("took %v: it waited for a stream", got.Duration)
			}
		})
	}
}

func TestProcessesThatLeftTheGroupDieOnCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	spec := script(escape + `; sleep 1000`)
	spec.Dir = t.TempDir()
	spec.TermGrace = time.Millisecond
	spec.OnOutput = func(string, []byte) { cancel(errStop) }
	got, err := Run(ctx, spec)
	if !errors.Is(err, errStop) {
		t.Errorf("error %v", err)
	}
	wantGone(t, got.Stdout)
}

// The group needs no marker.
func TestUnmarkedProcessesInTheGroupDie(t *testing.T) {
	t.Parallel()
	spec := script(inGroup)
	spec.Dir = t.TempDir()
	got, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(got.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	process, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(process)
	// It was killed, but nobody waited for it: it may be dying still.
	ended := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	n, err := unix.Poll(ended, 10_000)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Poll(ended, 10_000)
	}
	if n != 1 {
		t.Errorf("process %d is alive, %v", pid, err)
	}
}

// The one process that we cannot find must not hold us up.
func TestEscapedProcessDoesNotHoldUp(t *testing.T) {
	t.Parallel()
	spec := script(unknown)
	spec.Dir = t.TempDir()
	got, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(got.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Errorf("the process did not escape, so the test shows nothing: %v", err)
	}
}

// An outer command finds what inner commands started.
func TestMarkerIsInherited(t *testing.T) {
	t.Parallel()
	own := os.Getenv(MarkerVariable)
	got, err := Run(t.Context(), script("echo $"+MarkerVariable))
	if err != nil {
		t.Fatal(err)
	}
	marks := strings.Fields(got.Stdout)
	if want := len(strings.Fields(own)) + 1; len(marks) != min(want, maxMarkers) || !strings.HasPrefix(got.Stdout, own) {
		t.Errorf("markers %q in a process with %q", marks, own)
	}
}

// A process that only ever starts other programs has no environment to read at
// many of the moments at which we look.
func TestProcessesThatChangeTheirProgramDie(t *testing.T) {
	t.Parallel()
	for range 20 {
		spec := script(`mkfifo pipe; setsid sh -c 'echo $$ > pipe; exec sh ./again' & cat pipe`)
		spec.Dir = t.TempDir()
		again := []byte("exec sh ./again\n")
		if err := os.WriteFile(filepath.Join(spec.Dir, "again"), again, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Run(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		wantGone(t, got.Stdout)
	}
}

func TestOnlyTheMarkerVariableMarks(t *testing.T) {
	t.Parallel()
	env := []byte("PATH=/bin\x00OTHER=x y\x00" + MarkerVariable + "=a b\x00")
	for marker, want := range map[string]bool{"a": true, "b": true, "x": false, "bin": false, MarkerVariable: false} {
		if got := hasMarker(env, []byte(marker)); got != want {
			t.Errorf("marked with %q: %v", marker, got)
		}
	}
}

func TestStartTime(t *testing.T) {
	t.Parallel()
	rest := strings.Repeat(" 1", 18) + " 4711" + strings.Repeat(" 2", 30)
	if got, err := startTime([]byte("12 (a) Z (b) S" + rest)); got != 4711 || err != nil {
		t.Errorf("start time %d, %v", got, err)
	}
	for _, stat := range []string{"12 (zombie) Z" + rest, "12 (dead) X" + rest} {
		if _, err := startTime([]byte(stat)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", stat, err)
		}
	}
	for _, stat := range []string{"", "12 (short) S 1", "12 (a) S" + strings.Replace(rest, "4711", "x", 1)} {
		if _, err := startTime([]byte(stat)); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: error %v", stat, err)
		}
	}
}
