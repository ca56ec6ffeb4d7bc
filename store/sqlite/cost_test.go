package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// openForCost opens a store whose statements a test looks at.
func openForCost(tb testing.TB) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), Options{
		Path: filepath.Join(tb.TempDir(), "s.sqlite"), Scope: strings.Repeat("0", scopeDigits),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// onConnections calls f with each connection of a store.
func onConnections(tb testing.TB, s *Store, f func(*conn)) {
	tb.Helper()
	visit := func(c *conn) error {
		f(c)
		return nil
	}
	if err := s.writer.do(tb.Context(), visit); err != nil {
		tb.Fatal(err)
	}
	for range maxReaders {
		if err := s.reader.do(tb.Context(), visit); err != nil {
			tb.Fatal(err)
		}
	}
}

// SQLite compiles a statement again when it thinks that the values bound to it
// may deserve another plan. Ours do not, and it costs ten times what they do.
func TestStatementsAreCompiledOnce(t *testing.T) {
	t.Parallel()
	s := openForCost(t)
	exercise(t, s)
	onConnections(t, s, func(c *conn) {
		for query, stmt := range c.stmts {
			// Once is for the schema, which came after the first statements.
			if n := stmt.Status(sqlite3.STMTSTATUS_REPREPARE, false); n > 1 {
				t.Errorf("compiled %d times more: %s", n, query)
			}
		}
	})
}
