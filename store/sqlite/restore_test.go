package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/controller"
	"piworkflows/internal/oslock"
	"piworkflows/store/sqlite"
)

// aged is a store with a key before its copy was made and another one after.
func aged(t *testing.T) (o sqlite.Options, from string) {
	t.Helper()
	o = options(t)
	s := open(t, o)
	put(t, s, "a")
	if claim(t, s) == nil {
		t.Fatal("nothing to claim")
	}
	from, _ = backedUp(t, s)
	put(t, s, "b")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return o, from
}

func restore(t *testing.T, o sqlite.Options, from string) sqlite.Restored {
	t.Helper()
	r, err := sqlite.Restore(t.Context(), o, sqlite.Restoring{From: from, Actor: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRestoreBringsACopyBack(t *testing.T) {
	t.Parallel()
	o, from := aged(t)
	r := restore(t, o, from)
	if r.Resources != 1 || !strings.HasPrefix(r.Kept, o.Path+".before-restore-") {
		t.Fatalf("restored %+v", r)
	}
	if n, err := sqlite.Verify(r.Kept); err != nil || n.Resources != 2 {
		t.Errorf("kept %+v, %v", n, err)
	}
	s := open(t, o)
	if _, err := s.Get(t.Context(), ref("b")); !errors.Is(err, controller.ErrNotFound) {
		t.Errorf("what came after the copy: %v", err)
	}
	if c := claim(t, s); c == nil || c.Ref.Key != "a" || c.ConsecutiveErrors != 0 {
		t.Errorf("claim %+v, want one of the key that was claimed", c)
	}
	for _, project := range []string{scope, strings.Repeat("7", len(scope))} { // also one that the copy does not know
		o.Scope = project
		got, err := open(t, o).Restored(t.Context())
		if err != nil || got == nil || got.Actor != "ada" || got.From != from {
			t.Errorf("restoration of project %s: %+v, %v", project, got, err)
		}
	}
	if info, err := os.Stat(o.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("store %+v, %v", info, err)
	}
}

// To accept in one project accepts in no other one.
func TestAcceptRestoredIsOfOneProject(t *testing.T) {
	t.Parallel()
	o, from := aged(t)
	restore(t, o, from)
	if changed, err := open(t, o).AcceptRestored(t.Context(), "ada", ""); err != nil || !changed {
		t.Fatalf("accepted %v, %v", changed, err)
	}
	if r, err := open(t, o).Restored(t.Context()); err != nil || r != nil {
		t.Errorf("restoration %+v, %v", r, err)
	}
	other := o
	other.Scope = strings.Repeat("7", len(scope))
	if r, err := open(t, other).Restored(t.Context()); err != nil || r == nil {
		t.Errorf("restoration of another project %+v, %v", r, err)
	}
}

// A cursor that was given after the copy was made meets no number again.
func TestRestoreGivesNoCursorAgain(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	put(t, s, "a")
	from, _ := backedUp(t, s)
	put(t, s, "b")
	head, err := s.Head(t.Context())
	if err != nil || s.Close() != nil {
		t.Fatal(err)
	}
	restore(t, o, from)
	s = open(t, o)
	put(t, s, "c")
	changes, err := s.Changes(t.Context(), head, controller.ChangeFilter{})
	if err != nil || len(changes.Events) != 2 || changes.Events[1].Key != "c" {
		t.Errorf("after an old cursor: %+v, %v", changes.Events, err)
	}
}

func TestRestoreRefusesAStoreThatIsOpen(t *testing.T) {
	t.Parallel()
	o, from := aged(t)
	s := open(t, o)
	_, err := sqlite.Restore(t.Context(), o, sqlite.Restoring{From: from})
	held, ok := errors.AsType[*sqlite.OpenError](err)
	if !ok || len(held.Owners) != 1 || !strings.HasPrefix(held.Owners[0], "process ") {
		t.Fatalf("error %v", err)
	}
	if _, err := s.Get(t.Context(), ref("b")); err != nil {
		t.Errorf("the open store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	restore(t, o, from)
}

// While a store is being replaced nobody opens it: what they write would be lost.
func TestNobodyOpensAStoreThatIsBeingReplaced(t *testing.T) {
	t.Parallel()
	o, from := aged(t)
	gate, err := oslock.TryLock(o.Path + ".restore.lock")
	if err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), o)
	if !isA[*sqlite.ReplacedError](err) {
		t.Errorf("open: %v", err)
	}
	if _, err := sqlite.Restore(t.Context(), o, sqlite.Restoring{From: from}); !isA[*sqlite.ReplacedError](err) {
		t.Errorf("restore: %v", err)
	}
	if err := gate.Remove(); err != nil {
		t.Fatal(err)
	}
	restore(t, o, from)
}

// A damaged store is what copies are for. What there is of it is kept.
func TestRestoreReplacesADamagedStore(t *testing.T) {
	t.Parallel()
	o, from := aged(t)
	text, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 200; i < len(text); i++ {
		text[i] ^= 0x55
	}
	writeFile(t, o.Path, string(text))
	writeFile(t, o.Path+"-wal", "no log")
	r := restore(t, o, from)
	if kept, err := os.ReadFile(r.Kept); err != nil || string(kept) != string(text) {
		t.Errorf("kept %d bytes, %v", len(kept), err)
	}
	if _, err := open(t, o).Get(t.Context(), ref("a")); err != nil {
		t.Error(err)
	}
}

func TestRestoreMakesAStoreWhereThereIsNone(t *testing.T) {
	t.Parallel()
	_, from := aged(t)
	o := options(t)
	if r := restore(t, o, from); r.Kept != "" {
		t.Errorf("kept %s", r.Kept)
	}
	if _, err := open(t, o).Get(t.Context(), ref("a")); err != nil {
		t.Error(err)
	}
}

// What the database of somebody else is remains it, whatever the caller allows.
func TestRestoreLeavesAForeignDatabaseUntouched(t *testing.T) {
	t.Parallel()
	_, from := aged(t)
	for _, name := range []string{"the TypeScript implementation", "another database", "a schema of another name"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Path = filepath.Join(t.TempDir(), "controller.sqlite")
			foreigners[name].make(t, o.Path)
			before := tree(t, filepath.Dir(o.Path))
			_, err := sqlite.Restore(t.Context(), o, sqlite.Restoring{From: from, Unreadable: true})
			if !isA[*sqlite.ForeignStoreError](err) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(before, tree(t, filepath.Dir(o.Path))); diff != "" {
				t.Errorf("the folder changed (-before +after):\n%s", diff)
			}
		})
	}
}

// A file that is no database may be a store with a ruined beginning: only the caller
// knows. It is kept.
func TestRestoreReplacesAnUnreadableFileIfItIsTold(t *testing.T) {
	t.Parallel()
	o, from := aged(t)
	text, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	ruined := strings.Repeat("ruin", 1024) + string(text[4096:])
	writeFile(t, o.Path, ruined)
	before := tree(t, filepath.Dir(o.Path))
	_, err = sqlite.Restore(t.Context(), o, sqlite.Restoring{From: from})
	if refused, ok := errors.AsType[*sqlite.UnreadableError](err); !ok || refused.Path != o.Path || !strings.Contains(err.Error(), "--replace-unreadable") {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(before, tree(t, filepath.Dir(o.Path))); diff != "" {
		t.Fatalf("the folder changed (-before +after):\n%s", diff)
	}
	r, err := sqlite.Restore(t.Context(), o, sqlite.Restoring{From: from, Unreadable: true})
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(r.Kept); err != nil || string(kept) != ruined {
		t.Errorf("kept %d bytes, %v", len(kept), err)
	}
	if _, err := open(t, o).Get(t.Context(), ref("a")); err != nil {
		t.Error(err)
	}
}

// A copy that has nothing of the project would hide what the project has.
func TestRestoreRefusesACopyOfAnotherProject(t *testing.T) {
	t.Parallel()
	_, from := aged(t)
	o := options(t)
	o.Scope = strings.Repeat("7", len(scope))
	put(t, open(t, o), "mine")
	what := sqlite.Restoring{From: from, Project: "/srv/shop"}
	_, err := sqlite.Restore(t.Context(), o, what)
	refused, ok := errors.AsType[*sqlite.OtherProjectError](err)
	if !ok || refused.Path != from || refused.Project != "/srv/shop" || !slices.Equal(refused.Projects, []string{scope}) {
		t.Fatalf("error %+v", err)
	}
}

func TestRestoreBringsBackACopyOfAnotherProjectIfItIsTold(t *testing.T) {
	t.Parallel()
	_, from := aged(t)
	o := options(t)
	o.Scope = strings.Repeat("7", len(scope))
	r, err := sqlite.Restore(t.Context(), o, sqlite.Restoring{From: from, OtherProject: true})
	if err != nil || !slices.Equal(r.Projects, []string{scope}) {
		t.Fatalf("restored %+v, %v", r, err)
	}
	o.Scope = scope
	if _, err := open(t, o).Get(t.Context(), ref("a")); err != nil {
		t.Error(err)
	}
}

// An empty copy is one of any project.
func TestRestoreBringsAnEmptyCopyBack(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	from, _ := backedUp(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := restore(t, o, from); r.Resources != 0 || len(r.Projects) != 0 {
		t.Errorf("restored %+v", r)
	}
}

// Wherever the disk fails, the store that was there is in its place.
func TestRestoreOnADiskThatBreaks(t *testing.T) {
	t.Parallel()
	o, from := aged(t)
	d := newDisk(&o)
	tries := int64(0)
	for ; ; tries++ {
		d.breakAfter(tries, syscall.ENOSPC)
		_, err := sqlite.Restore(t.Context(), o, sqlite.Restoring{From: from})
		d.mend()
		if err == nil {
			break
		}
		if disk, ok := errors.AsType[*sqlite.DiskError](err); !ok || !disk.Full {
			t.Fatalf("failure %d: %v", tries, err)
		}
		if left, err := filepath.Glob(o.Path + ".*"); err != nil || len(left) != 0 {
			t.Fatalf("failure %d left %v, %v", tries, left, err)
		}
		s := open(t, o)
		if _, err := s.Get(t.Context(), ref("b")); err != nil {
			t.Fatalf("failure %d: %v", tries, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if tries < 10 {
		t.Errorf("the disk could fail %d times only", tries)
	}
}
