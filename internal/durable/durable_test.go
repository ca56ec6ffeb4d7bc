package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/durable"
)

var errFault = errors.New("fault")

// recorder is a hook that keeps the operations and fails from the nth on, or
// only at the nth.
type recorder struct {
	root  string
	ops   []string
	failN int // 0: never
	once  bool
	cause error // default errFault
}

func (r *recorder) hook(op durable.Op, path string) error {
	name, err := filepath.Rel(r.root, path)
	if err != nil {
		return err
	}
	r.ops = append(r.ops, string(op)+" "+filepath.ToSlash(name))
	if n := len(r.ops); r.failN > 0 && (n == r.failN || n > r.failN && !r.once) {
		if r.cause != nil {
			return r.cause
		}
		return errFault
	}
	return nil
}

func (r *recorder) fs() *durable.FS { return durable.WithHook(r.hook) }

func TestOrderOfOperations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(files *durable.FS, root string) error
		want []string
	}{
		{"replace", func(files *durable.FS, root string) error {
			return files.Replace(filepath.Join(root, "a"), []byte("x"), false)
		}, []string{"create a", "write a", "rename a"}},
		{"replace synced", func(files *durable.FS, root string) error {
			return files.Replace(filepath.Join(root, "a"), []byte("x"), true)
		}, []string{"create a", "write a", "sync a", "rename a", "sync-dir ."}},
		{"create", func(files *durable.FS, root string) error {
			return files.CreateExclusive(filepath.Join(root, "a"), []byte("x"), false)
		}, []string{"create a", "write a", "link a", "remove a"}},
		{"create synced", func(files *durable.FS, root string) error {
			return files.CreateExclusive(filepath.Join(root, "a"), []byte("x"), true)
		}, []string{"create a", "write a", "sync a", "link a", "sync-dir .", "remove a"}},
		{"folders", func(files *durable.FS, root string) error {
			return errors.Join(
				files.MkdirAll(filepath.Join(root, "a", "b")),
				files.MkdirAll(filepath.Join(root, "a", "b")),
				files.Mkdir(filepath.Join(root, "a", "c")),
				files.SyncDir(filepath.Join(root, "a")),
				files.Remove(filepath.Join(root, "a", "c")),
				files.RemoveAll(filepath.Join(root, "a")),
				files.RemoveAll(filepath.Join(root, "a")),
			)
		}, []string{
			"mkdir a", "sync-dir .", "mkdir a/b", "sync-dir a",
			"mkdir a/c", "sync-dir a", "remove a/c", "remove a", "remove a",
		}},
		{"append", func(files *durable.FS, root string) error {
			path := filepath.Join(root, "a")
			file, err := files.OpenAppend(path)
			if err != nil {
				return err
			}
			return errors.Join(file.Append([]byte("xyz")), file.Sync(), file.Close(),
				files.Truncate(path, 1), files.Rename(path, filepath.Join(root, "b")))
		}, []string{"open a", "write a", "sync a", "truncate a", "rename b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			record := &recorder{root: t.TempDir()}
			if err := test.do(record.fs(), record.root); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, record.ops); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

// At whichever operation a replacement stops, for a fault and for a crash, the
// file holds the whole old or the whole new content.
func TestReplaceIsAllOrNothing(t *testing.T) {
	t.Parallel()
	const operations = 5
	for _, once := range []bool{true, false} {
		for n := 1; n <= operations; n++ {
			record := &recorder{root: t.TempDir(), failN: n, once: once}
			path := filepath.Join(record.root, "state.json")
			mustWrite(t, path, "old")
			err := record.fs().Replace(path, []byte("new"), true)
			if !errors.Is(err, errFault) {
				t.Fatalf("fault %d: error %v", n, err)
			}
			want := "old"
			if n == operations { // only the folder's sync is missing
				want = "new"
			}
			wantContent(t, path, want)
			leftovers := 0
			if !once && n > 1 && n < operations { // nobody is left to clean up after a crash
				leftovers = 1
			}
			wantTemporaries(t, record.root, leftovers)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "state.json")
	for _, content := range []string{"first", "second, longer", ""} {
		if err := durable.OS().Replace(path, []byte(content), true); err != nil {
			t.Fatal(err)
		}
		wantContent(t, path, content)
	}
	wantMode(t, path, 0o600)
	wantTemporaries(t, root, 0)
	err := durable.OS().Replace(filepath.Join(root, "missing", "file"), nil, false)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

// A process that dies between write and rename leaves its temporary file under
// a name that the next one can tell.
func TestNameOfTemporaries(t *testing.T) {
	t.Parallel()
	record := &recorder{root: t.TempDir(), failN: 3}
	_ = record.fs().Replace(filepath.Join(record.root, "state.json"), []byte("x"), false)
	entries, err := os.ReadDir(record.root)
	if err != nil || len(entries) != 1 {
		t.Fatalf("entries %v, %v", entries, err)
	}
	pattern := regexp.MustCompile(`^state\.json\.\d+\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.tmp$`)
	if name := entries[0].Name(); !pattern.MatchString(name) {
		t.Errorf("name %q", name)
	}
}

func TestCreateExclusive(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "answer.json")
	var winners atomic.Int32
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			switch err := durable.OS().CreateExclusive(path, []byte("content"), true); {
			case err == nil:
				winners.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	workers.Wait()
	if winners.Load() != 1 {
		t.Errorf("%d winners, want 1", winners.Load())
	}
	wantContent(t, path, "content")
	wantMode(t, path, 0o600)
	wantTemporaries(t, root, 0)
}

func TestCreateExclusiveLeavesNothingBehindAFault(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 4; n++ {
		record := &recorder{root: t.TempDir(), failN: n, once: true}
		err := record.fs().CreateExclusive(filepath.Join(record.root, "a"), []byte("x"), true)
		entries, readErr := os.ReadDir(record.root)
		if !errors.Is(err, errFault) || readErr != nil || len(entries) != 0 {
			t.Errorf("fault %d: error %v, entries %v, %v", n, err, entries, readErr)
		}
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := durable.OS()
	path := filepath.Join(root, "a", "b", "c")
	if err := files.MkdirAll(path); err != nil {
		t.Fatal(err)
	}
	wantMode(t, filepath.Join(root, "a"), 0o700)
	wantMode(t, path, 0o700)
	if err := files.Mkdir(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Mkdir of a folder that exists: %v", err)
	}
	file := filepath.Join(root, "file")
	mustWrite(t, file, "")
	if err := files.MkdirAll(file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("MkdirAll of a file: %v", err)
	}
	if err := files.SyncDir(filepath.Join(root, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("SyncDir of a missing folder: %v", err)
	}
}

func TestHookErrorNamesOperationAndPath(t *testing.T) {
	t.Parallel()
	files := durable.WithHook(func(durable.Op, string) error { return errFault })
	calls := map[durable.Op]func() error{
		durable.OpMkdir:    func() error { return files.Mkdir("x") },
		durable.OpSyncDir:  func() error { return files.SyncDir("x") },
		durable.OpRename:   func() error { return files.Rename("y", "x") },
		durable.OpRemove:   func() error { return files.RemoveAll("x") },
		durable.OpTruncate: func() error { return files.Truncate("x", 0) },
		durable.OpCreate:   func() error { return files.Replace("x", nil, true) },
		durable.OpOpen:     func() error { _, err := files.OpenAppend("x"); return err },
	}
	for op, call := range calls {
		var place *fs.PathError
		if err := call(); !errors.As(err, &place) || place.Op != string(op) || place.Path != "x" || !errors.Is(err, errFault) {
			t.Errorf("%s: error %v", op, err)
		}
	}
}

func mustWrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("content of %s: %q, %v; want %q", filepath.Base(path), got, err, want)
	}
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("mode of %s: %v, %v; want %v", filepath.Base(path), info.Mode(), err, want)
	}
}

func wantTemporaries(t *testing.T, root string, want int) {
	t.Helper()
	if found, err := filepath.Glob(filepath.Join(root, "*.tmp")); err != nil || len(found) != want {
		t.Errorf("temporary files %v, %v; want %d", found, err, want)
	}
}
