package durable_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/durable"
)

// prepare writes text in two parts for the file of that name.
func prepare(t *testing.T, files *durable.FS, path, text string) *durable.Pending {
	t.Helper()
	p, err := files.Prepare(path, func(w io.Writer) error {
		_, err := io.WriteString(w, text[:len(text)/2])
		_, err2 := io.WriteString(w, text[len(text)/2:])
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPendingContentIsSeenOnceItIsPlaced(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "state.json")
	mustWrite(t, path, "old")
	p := prepare(t, durable.OS(), path, "new content")
	wantContent(t, path, "old")
	if err := errors.Join(p.Place(), p.Discard()); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, "new content")
	wantMode(t, path, 0o600)
	wantTemporaries(t, root, 0)
}

func TestDiscardedContentLeavesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "state.json")
	p := prepare(t, durable.OS(), path, "new")
	if err := errors.Join(p.Discard(), p.Discard()); err != nil {
		t.Fatal(err)
	}
	_, err := durable.OS().Prepare(path, func(io.Writer) error { return errFault })
	if !errors.Is(err, errFault) {
		t.Errorf("error %v", err)
	}
	wantTemporaries(t, root, 0)
}

// Large content goes to disk piece by piece, small content in one write.
func TestContentIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	record := &recorder{root: t.TempDir()}
	path := filepath.Join(record.root, "a")
	text := strings.Repeat("x", 150_000)
	p, err := record.fs().Prepare(path, func(w io.Writer) error {
		for line := range strings.SplitSeq(text, "") {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Place(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"create a", "write a", "write a", "write a", "rename a"}, record.ops); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	wantContent(t, path, text)
}

func TestSyncOfManyTriesAllOfThem(t *testing.T) {
	t.Parallel()
	record := &recorder{root: t.TempDir(), failN: 7, once: true}
	files := record.fs()
	trace := mustOpen(t, files, filepath.Join(record.root, "trace"))
	defer trace.Close()
	if err := trace.Append([]byte("one\n")); err != nil {
		t.Fatal(err)
	}
	p := prepare(t, files, filepath.Join(record.root, "state"), "new")
	defer p.Discard()
	err := files.Sync(trace, durable.Dir(record.root), p)
	if !errors.Is(err, errFault) || !trace.Lasts() {
		t.Errorf("error %v, the trace lasts: %v", err, trace.Lasts())
	}
	want := []string{"open trace", "write trace", "create state", "write state", "sync trace", "sync-dir .", "sync state"}
	if diff := cmp.Diff(want, record.ops); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

func TestCreatedContentHasItsNameAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "state.json")
	create := func() (*durable.Pending, error) {
		return durable.OS().Create(path, func(w io.Writer) error {
			_, err := io.WriteString(w, "content")
			return err
		})
	}
	p, err := create()
	if err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, "content")
	if _, err := create(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	if err := errors.Join(durable.OS().Sync(p), p.Place(), p.Discard()); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, "content")
	wantMode(t, path, 0o600)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if p, err = create(); err != nil {
		t.Fatal(err)
	}
	if err := p.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("discarded: %v", err)
	}
}
