package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"piworkflows/store/sqlite"
)

// backedUp makes a copy of a store.
func backedUp(t *testing.T, s *sqlite.Store) (path string, n sqlite.Contents) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "copy.sqlite")
	n, err := s.Backup(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return path, n
}

func TestBackupIsOfOneMomentWhileOthersWrite(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	for i := range 50 {
		put(t, s, "before-"+strconv.Itoa(i))
	}
	stop, written := make(chan struct{}), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			put(t, s, "during-"+strconv.Itoa(i))
			if i == 0 {
				close(written)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	<-written
	var steps int
	path := filepath.Join(t.TempDir(), "copy.sqlite")
	n, err := s.Backup(t.Context(), path, func(done, total int) {
		if steps++; done > total || total == 0 {
			t.Errorf("progress %d of %d", done, total)
		}
	})
	close(stop)
	writer.Wait()
	if err != nil || steps == 0 {
		t.Fatalf("%v after %d steps", err, steps)
	}
	// Each put is one row and one event, in one transaction.
	if n.Resources <= 50 || n.Events != n.Resources {
		t.Errorf("contents %+v", n)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != n.Bytes {
		t.Errorf("file %+v, %v; want mode 0600 and %d bytes", info, err, n.Bytes)
	}
	if again, err := sqlite.Verify(path); err != nil || again != n {
		t.Errorf("verified %+v, %v; want %+v", again, err, n)
	}
	alone(t, path)
}

// alone makes sure that nothing lies beside a file.
func alone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside %s: %v, %v", path, entries, err)
	}
}

func TestBackupOfAStoreOpenForReading(t *testing.T) {
	t.Parallel()
	o := options(t)
	put(t, open(t, o), "a")
	o.ReadOnly = true
	if _, n := backedUp(t, open(t, o)); n.Resources != 1 {
		t.Errorf("contents %+v", n)
	}
}

func TestBackupOverwritesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	path := filepath.Join(t.TempDir(), "mine")
	writeFile(t, path, "mine")
	_, err := s.Backup(t.Context(), path, nil)
	if exists, ok := errors.AsType[*sqlite.CopyExistsError](err); !ok || exists.Path != path {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("file %q, %v", text, err)
	}
}

// What is missing is the folder of the copy, not the store.
func TestBackupIntoNoFolder(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	dir := filepath.Join(t.TempDir(), "missing")
	_, err := s.Backup(t.Context(), filepath.Join(dir, "copy"), nil)
	if missing, ok := errors.AsType[*sqlite.NoFolderError](err); !ok || missing.Path != dir {
		t.Errorf("error %v", err)
	}
}

// Wherever the disk fails, no file has the name of the copy, and none is left
// beside it.
func TestBackupOnADiskThatBreaks(t *testing.T) {
	t.Parallel()
	o := options(t)
	d := newDisk(&o)
	s := open(t, o)
	put(t, s, "a")
	tries := int64(0)
	for ; ; tries++ {
		path := filepath.Join(t.TempDir(), "copy.sqlite")
		d.breakAfter(tries, syscall.ENOSPC)
		_, err := s.Backup(t.Context(), path, nil)
		d.mend()
		if err == nil {
			break
		}
		if disk, ok := errors.AsType[*sqlite.DiskError](err); !ok || !disk.Full {
			t.Fatalf("failure %d: %v", tries, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
			t.Fatalf("failure %d left %v, %v", tries, entries, err)
		}
	}
	if tries < 3 {
		t.Errorf("the disk could fail %d times only", tries)
	}
}

func TestBackupEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := s.Backup(ctx, filepath.Join(dir, "copy"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	for i := range 200 {
		put(t, s, strings.Repeat("k", 200)+strconv.Itoa(i))
	}
	good, _ := backedUp(t, s)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	broken := []byte(string(whole))
	for i := len(broken) / 2; i < len(broken); i++ {
		broken[i] ^= 0x55
	}
	for name, test := range map[string]struct {
		text string
		code string
	}{
		"a text":      {"hello", "foreign_store"},
		"nothing":     {"", "foreign_store"},
		"half a copy": {string(whole[:len(whole)/2]), "store_damaged"},
		"a bad disk":  {string(broken), "store_damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "copy")
			writeFile(t, path, test.text)
			_, err := sqlite.Verify(path)
			coded, ok := errors.AsType[interface {
				error
				ErrorCode() string
			}](err)
			if !ok || coded.ErrorCode() != test.code {
				t.Errorf("error %v, want %s", err, test.code)
			}
			alone(t, path)
		})
	}
	if _, err := sqlite.Verify(good + ".missing"); !isA[*sqlite.NoFileError](err) {
		t.Errorf("no file: %v", err)
	}
	if _, err := sqlite.Verify(o.Path); !isA[*sqlite.NoCopyError](err) {
		t.Errorf("a store in use: %v", err)
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
