package durable_test

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/durable"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.ndjson")
	for round, want := range []string{"one\ntwo\n", "one\ntwo\none\ntwo\n"} {
		file := mustOpen(t, durable.OS(), path)
		for _, record := range []string{"one\n", "two\n"} {
			if err := file.Append([]byte(record)); err != nil {
				t.Fatal(err)
			}
		}
		if got := file.Size(); got != int64(len(want)) {
			t.Errorf("round %d: size %d, want %d", round, got, len(want))
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			t.Fatal(err)
		}
		wantContent(t, path, want)
	}
	wantMode(t, path, 0o600)
}

func TestSyncOfWhatLastsDoesNothing(t *testing.T) {
	t.Parallel()
	record := &recorder{root: t.TempDir()}
	path := filepath.Join(record.root, "trace")
	file := mustOpen(t, record.fs(), path)
	syncs := func() (n int) {
		for _, op := range record.ops {
			if op == "sync trace" {
				n++
			}
		}
		return n
	}
	if err := file.Sync(); err != nil || syncs() != 0 || !file.Lasts() {
		t.Errorf("new file: %v, %d syncs, lasts %v", err, syncs(), file.Lasts())
	}
	if err := file.Append([]byte("one\n")); err != nil || file.Lasts() {
		t.Errorf("after an append: %v, lasts %v", err, file.Lasts())
	}
	if err := errors.Join(file.Sync(), file.Sync()); err != nil || syncs() != 1 || !file.Lasts() {
		t.Errorf("after two syncs: %v, %d syncs, lasts %v", err, syncs(), file.Lasts())
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, record.fs(), path) // nobody knows what its writer synced
	if err := errors.Join(again.Sync(), again.Close()); err != nil || syncs() != 2 {
		t.Errorf("opened again: %v, %d syncs", err, syncs())
	}
}

func TestCountingAddsUpWhatIsWritten(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	layer := durable.OS().Counting(&written)
	file := mustOpen(t, layer, filepath.Join(t.TempDir(), "trace.ndjson"))
	if err := errors.Join(file.Append([]byte("one\n")), file.Append([]byte("three\n")), file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := layer.Replace(filepath.Join(t.TempDir(), "state.json"), make([]byte, 90), false); err != nil {
		t.Fatal(err)
	}
	if got := written.Load(); got != 100 {
		t.Errorf("%d bytes, want 100", got)
	}
}

func TestAppendTakesBackATornRecord(t *testing.T) {
	t.Parallel()
	torn := &durable.TornWrite{Bytes: 3, Err: syscall.ENOSPC}
	record := &recorder{root: t.TempDir(), failN: 3, once: true, cause: torn}
	path := filepath.Join(record.root, "trace")
	file := mustOpen(t, record.fs(), path)
	defer file.Close()
	mustAppend(t, file, "first\n")
	err := file.Append([]byte("second\n"))
	if !durable.IsDiskFull(err) {
		t.Fatalf("error %v, want a full disk", err)
	}
	wantContent(t, path, "first\n")
	mustAppend(t, file, "third\n")
	wantContent(t, path, "first\nthird\n")
	want := []string{"open trace", "write trace", "write trace", "truncate trace", "write trace"}
	if diff := cmp.Diff(want, record.ops); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// As long as a torn record cannot be cut off, nothing is written behind it.
func TestAppendNeverWritesBehindATornRecord(t *testing.T) {
	t.Parallel()
	fault := error(nil)
	path := filepath.Join(t.TempDir(), "trace")
	files := durable.WithHook(func(op durable.Op, _ string) error {
		switch {
		case fault == nil || op == durable.OpOpen:
			return nil
		case op == durable.OpWrite:
			return &durable.TornWrite{Bytes: 3, Err: fault}
		default:
			return fault
		}
	})
	file := mustOpen(t, files, path)
	defer file.Close()
	mustAppend(t, file, "first\n")
	fault = errFault
	for range 2 {
		if err := file.Append([]byte("second\n")); !errors.Is(err, errFault) {
			t.Fatalf("error %v", err)
		}
		wantContent(t, path, "first\nsec")
		if got := file.Size(); got != 6 {
			t.Errorf("size %d, want 6: whole records only", got)
		}
	}
	fault = nil
	mustAppend(t, file, "third\n")
	wantContent(t, path, "first\nthird\n")
}

func TestFailedSyncIsNeverForgotten(t *testing.T) {
	t.Parallel()
	record := &recorder{root: t.TempDir(), failN: 3, once: true, cause: syscall.EIO}
	path := filepath.Join(record.root, "trace")
	file := mustOpen(t, record.fs(), path)
	mustAppend(t, file, "first\n")
	for range 2 {
		if err := file.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatalf("Sync: %v", err)
		}
		if err := file.Append([]byte("second\n")); !errors.Is(err, syscall.EIO) {
			t.Fatalf("Append: %v", err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, record.fs(), path)
	mustAppend(t, again, "second\n")
	if err := errors.Join(again.Sync(), again.Close()); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, "first\nsecond\n")
}

func TestOpenAppendFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, err := durable.OS().OpenAppend(root); err == nil {
		t.Error("a folder was opened for appending")
	}
	if _, err := durable.OS().OpenAppend(filepath.Join(root, "no", "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestKindsOfFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err            error
		full, readOnly bool
	}{
		{nil, false, false},
		{io.EOF, false, false},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, true, false},
		{errors.Join(io.EOF, &durable.TornWrite{Err: syscall.ENOSPC}), true, false},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, false, true},
		{fs.ErrPermission, false, true},
		{syscall.EACCES, false, true},
		{syscall.EIO, false, false},
	}
	for _, test := range tests {
		if got := durable.IsDiskFull(test.err); got != test.full {
			t.Errorf("IsDiskFull(%v) = %v", test.err, got)
		}
		if got := durable.IsReadOnly(test.err); got != test.readOnly {
			t.Errorf("IsReadOnly(%v) = %v", test.err, got)
		}
	}
}

func mustOpen(t *testing.T, files *durable.FS, path string) *durable.AppendFile {
	t.Helper()
	file, err := files.OpenAppend(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func mustAppend(t *testing.T, file *durable.AppendFile, record string) {
	t.Helper()
	if err := file.Append([]byte(record)); err != nil {
		t.Fatal(err)
	}
}
