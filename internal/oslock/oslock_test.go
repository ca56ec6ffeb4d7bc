package oslock_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"piworkflows/internal/oslock"
)

// holdEnv makes the test binary a process that holds the named lock until its
// stdin ends, or for ever if it is killed before.
const holdEnv = "OSLOCK_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		hold(path)
		return
	}
	os.Exit(m.Run())
}

func hold(path string) {
	if _, err := oslock.TryLock(path); err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("held\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestTryLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	first := mustLock(t, path)
	if first.Path() != path {
		t.Errorf("path %s, want %s", first.Path(), path)
	}
	wantHeld(t, path)
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	second := mustLock(t, path)
	if err := first.Unlock(); err != nil { // must not release the second
		t.Fatal(err)
	}
	wantHeld(t, path)
	if err := second.Unlock(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("lock file: %v, %v; want mode 0600", info, err)
	}
}

func TestTryLockNeedsTheFolder(t *testing.T) {
	t.Parallel()
	_, err := oslock.TryLock(filepath.Join(t.TempDir(), "missing", ".lock"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want os.ErrNotExist", err)
	}
}

// A killed process releases its lock at once: that is what the package is for.
func TestLockDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), executable)
	child.Env = append(os.Environ(), holdEnv+"="+path)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("child says %q, %v", line, err)
	}
	wantHeld(t, path)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // says that it was killed
	if err := mustLock(t, path).Unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	lock := mustLock(t, path)
	for range 2 {
		if err := lock.Remove(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("lock file after Remove: %v", err)
		}
	}
	mustLock(t, path)
}

// A folder is locked as a file is, and nothing of the lock is left in it.
func TestTryLockDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		lock, err := oslock.TryLockDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := oslock.TryLockDir(dir); !errors.Is(err, oslock.ErrHeld) {
			t.Errorf("a second holder: %v", err)
		}
		if err := lock.Remove(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if _, err := oslock.TryLockDir(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

// Many goroutines lock and remove; at no time may two hold the lock.
func TestRemoveKeepsTheLockExclusive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	var holders atomic.Int32
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 300 {
				lock, err := oslock.TryLock(path)
				if err != nil {
					continue
				}
				if holders.Add(1) != 1 {
					t.Error("two holders of one lock")
				}
				holders.Add(-1)
				if err := lock.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
}

func mustLock(t *testing.T, path string) *oslock.Lock {
	t.Helper()
	lock, err := oslock.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func wantHeld(t *testing.T, path string) {
	t.Helper()
	_, err := oslock.TryLock(path)
	var held *oslock.HeldError
	if !errors.As(err, &held) || held.Path != path || !errors.Is(err, oslock.ErrHeld) {
		t.Fatalf("error %v, want a HeldError for %s", err, path)
	}
}

func TestHeldIsALookAndNoClaim(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	want := func(held bool) {
		t.Helper()
		if got, err := oslock.Held(path); err != nil || got != held {
			t.Errorf("held = %v, %v; want %v", got, err, held)
		}
	}
	want(false)
	if _, err := os.Stat(path); err == nil {
		t.Error("looking made the file")
	}
	lock, err := oslock.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	want(true)
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	want(false)
	again, err := oslock.TryLock(path)
	if err != nil {
		t.Fatalf("the look left a lock: %v", err)
	}
	_ = again.Unlock()
}
