package runbundle_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/clock/clocktest"
	"piworkflows/internal/durable"
	"piworkflows/runbundle"
)

const (
	// crashEnv makes the test binary a process that writes the story below the
	// named folder and kills itself before the operation of crashAtEnv. With
	// crashTornEnv half of a write is done first.
	crashEnv     = "RUNBUNDLE_TEST_CRASH"
	crashAtEnv   = "RUNBUNDLE_TEST_CRASH_AT"
	crashTornEnv = "RUNBUNDLE_TEST_CRASH_TORN"
)

// crashHelper tells on stdout what was recorded, line by line, and dies.
func crashHelper(root string) {
	at, _ := strconv.Atoi(os.Getenv(crashAtEnv))
	torn := os.Getenv(crashTornEnv) != ""
	n, dying := 0, false
	layer := durable.WithHook(func(op durable.Op, path string) error {
		n++
		if dying || n == at && !(torn && op == durable.OpWrite) {
			die()
		}
		if n == at {
			dying = true
			return &durable.TornWrite{Bytes: 40, Err: syscall.EIO}
		}
		return nil
	})
	b := &bundle{clock: clocktest.New(), root: root}
	b.options = runbundle.Options{Clock: b.clock, FS: layer}
	w, err := runbundle.Create(context.Background(), b.options, root, b.init())
	if err != nil {
		panic(err)
	}
	for _, d := range append([]runbundle.Draft{b.init().Started()}, story()...) {
		d.At = b.clock.Now()
		e, err := w.Append(context.Background(), d)
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Seq)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	fmt.Println("operations", n)
}

func die() {
	self, _ := os.FindProcess(os.Getpid())
	_ = self.Kill()
	select {} // until the signal arrives
}

// crash runs the helper and returns the last event that it knew to be written.
func crash(t *testing.T, root string, at int, torn bool) (recorded int64, operations int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), crashEnv+"="+root, crashAtEnv+"="+strconv.Itoa(at))
	if torn {
		child.Env = append(child.Env, crashTornEnv+"=1")
	}
	var stderr strings.Builder
	child.Stderr = &stderr
	out, _ := child.Output()
	if stderr.Len() > 0 {
		t.Fatalf("helper: %s", &stderr)
	}
	for line := range strings.Lines(string(out)) {
		if _, err := fmt.Sscanf(line, "operations %d", &operations); err == nil {
			continue
		}
		if recorded, err = strconv.ParseInt(strings.TrimSpace(line), 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return recorded, operations
}

// TestCrashAtEveryOperation kills the owner before each durable operation, and
// in the middle of each write, and lets the next owner clear up.
func TestCrashAtEveryOperation(t *testing.T) {
	t.Parallel()
	_, total := crash(t, filepath.Join(t.TempDir(), "runs"), 0, false)
	if total < 50 {
		t.Fatalf("the story has %d operations", total)
	}
	stride := 5
	if os.Getenv("PI_WORKFLOWS_STRESS") != "" {
		stride = 1
	}
	for at := 1; at <= total; at += stride {
		for _, torn := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d torn %v", at, torn), func(t *testing.T) {
				t.Parallel()
				b := newBundle(t)
				recorded, _ := crash(t, b.root, at, torn)
				afterCrash(t, b, recorded)
			})
		}
	}
}

func afterCrash(t *testing.T, b *bundle, recorded int64) {
	t.Helper()
	read, err := runbundle.Read(b.dir())
	if errors.Is(err, fs.ErrNotExist) {
		if recorded != 0 {
			t.Fatalf("no bundle, but event %d was recorded", recorded)
		}
		unfinishedIsCleared(t, b)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(read.Events)) < recorded {
		t.Fatalf("%d events, but event %d was recorded", len(read.Events), recorded)
	}
	before := contents(t, b.dir())
	terminal, stale := read.State.Status.Terminal(), !strings.Contains(before["manifest.json"], string(read.State.Status))
	s, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "host died")
	if err != nil {
		t.Fatal(err)
	}
	again := b.read(t)
	sameState(t, "state after the repair", s, again.State)
	if terminal == again.Interrupted() || again.Torn || again.Manifest.Status != s.Status {
		t.Errorf("terminal %v, interrupted %v, torn %v, manifest %s", terminal, again.Interrupted(), again.Torn, again.Manifest.Status)
	}
	if len(again.State.Steps) != len(read.State.Steps) {
		t.Errorf("%d steps before the repair, %d after", len(read.State.Steps), len(again.State.Steps))
	}
	after := contents(t, b.dir())
	for name := range after {
		if strings.HasSuffix(name, ".tmp") && !terminal {
			t.Errorf("%s is left", name)
		}
	}
	if terminal {
		if before["trace.ndjson"] != after["trace.ndjson"] {
			t.Error("the trace of a terminal bundle was changed")
		}
		if !stale && before["state.json"] != after["state.json"] {
			t.Error("a terminal bundle was changed")
		}
	}
	if _, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "once more"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after, contents(t, b.dir())); diff != "" {
		t.Errorf("the second repair changed something: %.1000s", diff)
	}
}

func unfinishedIsCleared(t *testing.T, b *bundle) {
	t.Helper()
	_, statErr := os.Lstat(b.dir())
	moved, err := runbundle.QuarantineIncomplete(b.options, b.root, runID, "feedbeef-0000")
	if err != nil {
		t.Fatal(err)
	}
	if (moved != "") != (statErr == nil) {
		t.Errorf("moved to %q, folder: %v", moved, statErr)
	}
	w := b.create(t)
	w.add(b.init().Started())
	runs, broken, err := runbundle.List(b.root)
	if len(runs) != 1 || len(broken) != 0 || err != nil {
		t.Errorf("list: %v, %v, %v", runs, broken, err)
	}
}

// TestDiskFaultAtEveryOperation fails one operation, or all from one on, with a
// full or a read-only disk: one clear error, and nothing that was recorded is
// lost or untrue.
func TestDiskFaultAtEveryOperation(t *testing.T) {
	t.Parallel()
	torn := &durable.TornWrite{Bytes: 40, Err: syscall.ENOSPC}
	for _, fault := range []struct {
		name string
		err  error
		from bool
	}{
		{"full once", syscall.ENOSPC, false}, {"read-only from then on", syscall.EROFS, true},
		{"torn write", torn, false}, {"torn write, then full", torn, true},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				b := newBundle(t)
				ops := &operations{root: b.root, fail: func(n int, op durable.Op, _ string) error {
					if n == at || fault.from && n > at {
						return fault.err
					}
					return nil
				}}
				failure := b.tellShortly(t, ops)
				if len(ops.log) < at { // the operation that should fail never came
					if at < 40 {
						t.Errorf("the story has %d operations only", at)
					}
					return
				}
				afterFault(t, b, at, failure)
			}
		})
	}
}

// shortStory has each kind of durable operation once.
func shortStory() []runbundle.Draft {
	whole := story()
	return []runbundle.Draft{whole[0], whole[1], node("pick", 1, ok("1")), whole[len(whole)-1]}
}

// tellShortly writes the short story until an error comes, and returns it.
func (b *bundle) tellShortly(t *testing.T, ops *operations) (failure error) {
	t.Helper()
	options := b.options
	options.FS = ops.fs()
	w, err := runbundle.Create(t.Context(), options, b.root, b.init())
	if err != nil {
		return err
	}
	for _, d := range append([]runbundle.Draft{b.init().Started()}, shortStory()...) {
		d.At = b.clock.Now()
		before := stateOf(t, w)
		e, err := w.Append(t.Context(), d)
		if err != nil {
			if e.Seq == 0 {
				sameState(t, "state after a failed append", before, stateOf(t, w))
			}
			_ = w.Close() // has more to say about the same disk
			return err
		}
	}
	return w.Close()
}

func afterFault(t *testing.T, b *bundle, at int, failure error) {
	t.Helper()
	if failure != nil && !durable.IsDiskFull(failure) && !durable.IsReadOnly(failure) {
		t.Fatalf("operation %d: the error does not say what is wrong: %v", at, failure)
	}
	read, err := runbundle.Read(b.dir())
	if errors.Is(err, fs.ErrNotExist) {
		if failure == nil {
			t.Fatalf("operation %d: no error and no bundle", at)
		}
		return
	}
	if err != nil {
		t.Fatalf("operation %d: %v", at, err)
	}
	if failure == nil && (read.State.Status != runbundle.Completed || len(read.Events) != len(shortStory())+1) {
		t.Fatalf("operation %d: no error, but the run is %s after %d events", at, read.State.Status, len(read.Events))
	}
	s, err := runbundle.MarkInterrupted(t.Context(), b.options, b.dir(), "disk")
	if err != nil {
		t.Fatalf("operation %d: %v", at, err)
	}
	again := b.read(t)
	sameState(t, fmt.Sprintf("operation %d", at), s, again.State)
	if !s.Status.Terminal() || len(again.State.Steps) != len(read.State.Steps) {
		t.Fatalf("operation %d: %s with %d of %d steps", at, s.Status, len(again.State.Steps), len(read.State.Steps))
	}
}
