package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"piworkflows/internal/durable"
)

func TestScratch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s, err := durable.OS().Scratch(filepath.Join(root, "steps"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if runtime.GOOS != "windows" {
		wantTemporaries(t, root, 0)
	}
	if err := errors.Join(s.Append([]byte("one")), s.Append([]byte("two"))); err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 4)
	if n, err := s.ReadAt(part, 2); n != 4 || err != nil || string(part) != "etwo" || s.Size() != 6 {
		t.Errorf("%q, %v of %d bytes", part[:n], err, s.Size())
	}
	if n, err := s.ReadAt(part, 4); n != 2 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestScratchForgetsATornWrite(t *testing.T) {
	t.Parallel()
	full := true
	files := durable.WithHook(func(op durable.Op, _ string) error {
		if full && op == durable.OpWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	s, err := files.Scratch(filepath.Join(t.TempDir(), "steps"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Append([]byte("lost")); !durable.IsDiskFull(err) || s.Size() != 0 {
		t.Errorf("error %v, size %d", err, s.Size())
	}
	full = false
	if err := s.Append([]byte("kept")); err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 4)
	if _, err := s.ReadAt(part, 0); err != nil || string(part) != "kept" {
		t.Errorf("%q, %v", part, err)
	}
}

func TestScratchNeedsItsFolder(t *testing.T) {
	t.Parallel()
	if _, err := durable.OS().Scratch(filepath.Join(t.TempDir(), "missing", "steps")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
