package watch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"piworkflows/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newWatcher(t *testing.T) *watch.Watcher {
	t.Helper()
	w, err := watch.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func add(t *testing.T, w *watch.Watcher, dir string, names ...string) {
	t.Helper()
	if there, err := w.Add(dir, names...); !there || err != nil {
		t.Fatalf("%s: there %v, %v", dir, there, err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	if _, err := file.WriteString("x"); err != nil {
		t.Error(err)
	}
}

func wait(t *testing.T, w *watch.Watcher) {
	t.Helper()
	if err := w.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWaitEndsWhenSomethingHappens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWatcher(t)
	add(t, w, dir)
	add(t, w, dir)
	file := filepath.Join(dir, "file")
	write(t, file)
	wait(t, w)
	go write(t, file) // while it waits
	wait(t, w)
	if err := os.Rename(file, file+"2"); err != nil {
		t.Fatal(err)
	}
	wait(t, w)
	if err := os.Remove(file + "2"); err != nil {
		t.Fatal(err)
	}
	wait(t, w)
}

func TestFolderThatComesLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	w := newWatcher(t)
	if there, err := w.Add(inner); there || err != nil {
		t.Fatalf("there %v, %v", there, err)
	}
	add(t, w, dir)
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	wait(t, w)
	add(t, w, inner)
	write(t, filepath.Join(inner, "file"))
	wait(t, w)
}

func TestNamesThatDoNotCount(t *testing.T) {
	t.Parallel()
	noisy, dir := t.TempDir(), t.TempDir()
	w := newWatcher(t)
	add(t, w, noisy, "manifest.json")
	add(t, w, dir)
	write(t, filepath.Join(noisy, "trace.ndjson"))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	done := make(chan error)
	go func() { done <- w.Wait(ctx) }()
	write(t, filepath.Join(noisy, "trace.ndjson"))
	cancel(enough)
	if err := <-done; !errors.Is(err, enough) {
		t.Errorf("Wait = %v", err)
	}
	write(t, filepath.Join(noisy, "manifest.json"))
	wait(t, w)
}

func TestEndedContext(t *testing.T) {
	t.Parallel()
	w := newWatcher(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v", err)
	}
}
