package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// raw runs SQL in a file, as any other program would, and closes it.
func raw(t testing.TB, path, script string) {
	t.Helper()
	db := rawOpen(t, path)
	if err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func rawOpen(t testing.TB, path string) *sqlite3.Conn {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// pragma asks a file for one value.
func pragma(t *testing.T, path, name string) string {
	t.Helper()
	db := rawOpen(t, path)
	defer db.Close()
	return query(t, db, "PRAGMA "+name)
}

// query returns the first column of all rows, one a line.
func query(t *testing.T, db *sqlite3.Conn, sql string) string {
	t.Helper()
	s, _, err := db.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text := ""
	for s.Step() {
		if text != "" {
			text += "\n"
		}
		text += s.ColumnText(0)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return text
}

// tree reads all files below a folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			files[path] = "folder"
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func asError[E error](err error, target *E) bool { return errors.As(err, target) }
