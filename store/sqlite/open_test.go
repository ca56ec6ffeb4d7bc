package sqlite_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/runqueue"
	"piworkflows/store/sqlite"
)

func TestFilesAreOurs(t *testing.T) {
	t.Parallel()
	o := options(t)
	open(t, o)
	s := open(t, o)
	put(t, s, "a")
	folder := filepath.Dir(o.Path)
	for path, want := range map[string]fs.FileMode{
		o.Path: 0o600, o.Path + "-wal": 0o600, o.Path + "-shm": 0o600, s.OwnerFile(): 0o600,
		folder: 0o700 | fs.ModeDir, filepath.Join(folder, "owners"): 0o700 | fs.ModeDir,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("mode of %s is %s, want %s", filepath.Base(path), info.Mode(), want)
		}
	}
}

func TestNothingIsLeftBesideAClosedStore(t *testing.T) {
	t.Parallel()
	o := options(t)
	for range 2 {
		s := open(t, o)
		put(t, s, "a")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var files []string
	for path, content := range tree(t, filepath.Dir(o.Path)) {
		if content != "folder" {
			files = append(files, path)
		}
	}
	if diff := cmp.Diff([]string{o.Path}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got := pragma(t, o.Path, "journal_mode"); got != "wal" {
		t.Errorf("journal mode %s", got)
	}
}

func TestManyOpenANewFileAtOnce(t *testing.T) {
	t.Parallel()
	o := options(t)
	var openers sync.WaitGroup
	for range 6 {
		openers.Go(func() {
			s, err := sqlite.Open(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			if err := wakeUp(t.Context(), s, "a"); !errors.Is(err, controller.ErrNotFound) {
				t.Errorf("enqueue: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	openers.Wait()
	if got := pragma(t, o.Path, "integrity_check"); got != "ok" {
		t.Errorf("integrity: %s", got)
	}
}

func TestOpenRefusesAScopeThatIsNone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "xyz", scope + "0", strings.ToUpper(scope)} {
		o := options(t)
		o.Scope = bad
		if _, err := sqlite.Open(t.Context(), o); err == nil {
			t.Errorf("scope %q was accepted", bad)
		}
		if _, err := os.Stat(o.Path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a refused open left a file: %v", err)
		}
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ctx, options(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestReadOnlyStoreReads(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.ReadOnly = true
	if _, err := sqlite.Open(t.Context(), o); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a missing store: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(o.Path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made a folder: %v", err)
	}
	o.ReadOnly = false
	s := open(t, o)
	put(t, s, "a")
	c := claim(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := tree(t, filepath.Dir(o.Path))
	o.ReadOnly = true
	s = open(t, o)
	if _, err := s.Get(t.Context(), ref("a")); err != nil {
		t.Error(err)
	}
	refused := map[string]error{
		"Enqueue":     wakeUp(t.Context(), s, "a"),
		"Renew":       s.Renew(t.Context(), c, lasts),
		"FinishChild": s.FinishChild(t.Context(), nil, controller.ChildOutcome{State: controller.RunFailed}),
	}
	_, refused["Put"] = s.Put(t.Context(), controller.Put{Ref: ref("b"), Spec: json.RawMessage(`{}`)})
	_, refused["Claim"] = s.Claim(t.Context(), []string{"c"}, lasts)
	for what, err := range refused {
		var disk *sqlite.DiskError
		if !errors.As(err, &disk) || !disk.ReadOnly || disk.ErrorCode() != "read_only" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.Put(t.Context(), controller.Put{Ref: ref("b"), Spec: json.RawMessage(`{}`), DryRun: true}); err != nil {
		t.Errorf("dry run: %v", err)
	}
	if got := tree(t, filepath.Dir(o.Path))[o.Path]; got != before[o.Path] {
		t.Error("reading changed the file")
	}
}

// A store that only reads still follows what others write.
func TestReadOnlyStoreFollows(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	put(t, s, "a")
	o.ReadOnly = true
	reader := open(t, o)
	head, err := reader.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan error, 1)
	go func() {
		c, err := reader.Changes(t.Context(), head, controller.ChangeFilter{})
		if err == nil && c.Events[0].Type != controller.EventRequested {
			t.Errorf("event %+v", c.Events[0])
		}
		heard <- err
	}()
	if err := wakeUp(t.Context(), s, "a"); err != nil {
		t.Fatal(err)
	}
	if err := <-heard; err != nil {
		t.Fatal(err)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	put(t, s, "a")
	claim(t, s)
	waiting := make(chan error, 2)
	go func() { waiting <- s.WaitDue(t.Context(), []string{"c"}) }()
	go func() { waiting <- s.WaitRuns(t.Context(), runqueue.ClaimQuery{}) }()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get(t.Context(), ref("a"))
	for _, err := range []error{<-waiting, <-waiting, err, wakeUp(t.Context(), s, "a")} {
		if !errors.Is(err, sqlite.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
}

func TestPathOfAProject(t *testing.T) {
	t.Parallel()
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(project, link); err != nil {
		t.Fatal(err)
	}
	one, err := sqlite.Scope(project)
	if err != nil {
		t.Fatal(err)
	}
	two, err := sqlite.Scope(link)
	if err != nil || one != two {
		t.Errorf("scope %s through a link, %s without: %v", two, one, err)
	}
	sum := sha256.Sum256([]byte(filepath.Join(project, "missing")))
	missing, err := sqlite.Scope(filepath.Join(project, "missing"))
	if missing != hex.EncodeToString(sum[:12]) || err != nil {
		t.Errorf("scope of a missing project is %s, %v", missing, err)
	}
	path, err := sqlite.Path("root", link)
	if want := filepath.Join("root", "projects", one, "controller.sqlite"); path != want || err != nil {
		t.Errorf("path %s, %v; want %s", path, err, want)
	}
}

func TestDefaultRoot(t *testing.T) {
	t.Setenv(sqlite.RootEnv, "")
	t.Setenv("HOME", filepath.Join("home", "ada"))
	t.Setenv("USERPROFILE", filepath.Join("home", "ada"))
	got, err := sqlite.DefaultRoot()
	if want := filepath.Join("home", "ada", ".pi", "agent", "workflows", "controllers"); got != want || err != nil {
		t.Errorf("root %s, %v; want %s", got, err, want)
	}
	t.Setenv(sqlite.RootEnv, "elsewhere")
	if got, err := sqlite.DefaultRoot(); got != "elsewhere" || err != nil {
		t.Errorf("root %s, %v", got, err)
	}
}
