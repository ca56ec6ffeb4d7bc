package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"piworkflows/store/sqlite"
)

// foreigners make files that are not ours.
var foreigners = map[string]struct {
	make func(t *testing.T, path string)
	id   string
}{
	"the TypeScript implementation": {func(t *testing.T, path string) {
		raw(t, path, `PRAGMA journal_mode = WAL;
			CREATE TABLE schema_info (singleton INTEGER PRIMARY KEY, schema_id TEXT NOT NULL);
			INSERT INTO schema_info VALUES (1, 'pi-workflows.controller-store.v1')`)
	}, "pi-workflows.controller-store.v1"},
	"one with a write-ahead log": {func(t *testing.T, path string) {
		db := rawOpen(t, path)
		if _, err := db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
			t.Fatal(err)
		}
		err := db.Exec(`PRAGMA journal_mode = WAL; CREATE TABLE a (b); PRAGMA wal_checkpoint; INSERT INTO a VALUES (1)`)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			t.Fatalf("no log beside the file: %v", err)
		}
	}, ""},
	"another database": {func(t *testing.T, path string) { raw(t, path, "CREATE TABLE a (b)") }, ""},
	"a database without tables": {func(t *testing.T, path string) {
		raw(t, path, "CREATE TABLE a (b); DROP TABLE a")
	}, ""},
	"a schema of another name": {func(t *testing.T, path string) {
		raw(t, path, fmt.Sprintf(`PRAGMA application_id = 7; CREATE TABLE schema_info (schema_id TEXT, version INTEGER);
			INSERT INTO schema_info VALUES ('%s', 1)`, "theirs"))
	}, "theirs"},
	"a text":       {func(t *testing.T, path string) { writeFile(t, path, strings.Repeat("text\n", 100)) }, ""},
	"zeros":        {func(t *testing.T, path string) { writeFile(t, path, strings.Repeat("\x00", 8192)) }, ""},
	"a short text": {func(t *testing.T, path string) { writeFile(t, path, "SQLite format 3\x00") }, ""},
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestForeignStoreIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	for name, foreign := range foreigners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Path = filepath.Join(t.TempDir(), "controller.sqlite")
			foreign.make(t, o.Path)
			before := tree(t, filepath.Dir(o.Path))
			for _, o.ReadOnly = range []bool{false, true} {
				_, err := sqlite.Open(t.Context(), o)
				var refused *sqlite.ForeignStoreError
				if !errors.As(err, &refused) {
					t.Fatalf("error %v, want a ForeignStoreError", err)
				}
				if refused.Path != o.Path || refused.SchemaID != foreign.id || refused.ErrorCode() != "foreign_store" {
					t.Errorf("error %+v", refused)
				}
				if !strings.Contains(err.Error(), "--store") {
					t.Errorf("%q does not tell the next step", err)
				}
				if diff := cmp.Diff(before, tree(t, filepath.Dir(o.Path))); diff != "" {
					t.Errorf("the folder changed (-before +after):\n%s", diff)
				}
			}
		})
	}
}

// newer makes a store of a version that does not exist yet.
func newer(t *testing.T, o sqlite.Options, script string) {
	t.Helper()
	s := open(t, o)
	put(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw(t, o.Path, script)
}

func TestNewerVersionIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	o := options(t)
	newer(t, o, "UPDATE schema_info SET version = 99; PRAGMA user_version = 99")
	wantVersionError(t, o)
}

// The new version may not have reached the header of the file yet.
func TestNewerVersionInTheLogIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	o := options(t)
	newer(t, o, "SELECT 1")
	db := rawOpen(t, o.Path)
	if _, err := db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec("UPDATE schema_info SET version = 99; PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	wantVersionError(t, o)
}

// Builds between two releases may differ in their tables and not in their version.
func TestTablesOfAnotherBuildAreRefusedUntouched(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"another digest":                 "UPDATE schema_info SET digest = 'other'",
		"a build that knew of no digest": "ALTER TABLE schema_info DROP COLUMN digest",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			newer(t, o, script)
			before := tree(t, filepath.Dir(o.Path))[o.Path]
			for _, o.ReadOnly = range []bool{false, true} {
				_, err := sqlite.Open(t.Context(), o)
				var refused *sqlite.SchemaError
				if !errors.As(err, &refused) || refused.Path != o.Path || refused.Version != 1 {
					t.Fatalf("error %v, want a SchemaError", err)
				}
				if after := tree(t, filepath.Dir(o.Path))[o.Path]; after != before {
					t.Error("the file changed")
				}
			}
		})
	}
}

func wantVersionError(t *testing.T, o sqlite.Options) {
	t.Helper()
	before := tree(t, filepath.Dir(o.Path))
	delete(before, o.Path+"-shm") // is memory, and says who has locked what
	for _, o.ReadOnly = range []bool{false, true} {
		_, err := sqlite.Open(t.Context(), o)
		var refused *sqlite.VersionError
		if !errors.As(err, &refused) || refused.Version != 99 || refused.Known != 1 {
			t.Fatalf("error %v, want a VersionError of 99", err)
		}
		after := tree(t, filepath.Dir(o.Path))
		delete(after, o.Path+"-shm")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the folder changed (-before +after):\n%s", diff)
		}
	}
}
