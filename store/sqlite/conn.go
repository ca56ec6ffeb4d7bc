//nolint:wrapcheck // Options.explain says what was tried, and types the error.
package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// busyTimeout is how long a connection waits for the locks of other processes.
const busyTimeout = 5 * time.Second

// conn is one connection with its prepared statements: all that this package
// knows of the SQLite library. It is not safe for concurrent use.
type conn struct {
	db    *sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
	// transaction counts those that were begun.
	transaction int64
	// level is what commits wait for.
	level lasting
	// busy is how long the connection waits for the locks of others.
	busy time.Duration
}

// access says how a connection is opened.
type access struct {
	path string
	vfs  string
	// mode is a mode of SQLite's URIs: ro, rw or rwc.
	mode string
	// immutable promises that nobody writes meanwhile: no lock is taken and no
	// file is made beside the database.
	immutable bool
	busy      time.Duration
}

func openConn(a access) (*conn, error) {
	db, err := sqlite3.Open(a.uri())
	if err != nil {
		return nil, err
	}
	c := &conn{db: db, stmts: map[string]*sqlite3.Stmt{}, busy: a.busy}
	if err := c.configure(a); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) configure(a access) error {
	// Without it SQLite compiles a statement again whenever a value is bound that
	// might have made a partial index fit. Ours fit by their text alone, and a
	// compilation costs ten times what the statement does.
	if _, err := c.db.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return err
	}
	return c.db.BusyTimeout(a.busy)
}

// uri names the file for SQLite. The files that SQLite makes beside it get its
// mode, where the file is ours to change.
func (a access) uri() string {
	query := url.Values{"mode": {a.mode}}
	if a.vfs != "" {
		query.Set("vfs", a.vfs)
	}
	if a.immutable {
		query.Set("immutable", "1")
	}
	if a.mode == "rw" {
		query.Set("modeof", a.path)
	}
	// SQLite does not read + as a space.
	parameters := strings.ReplaceAll(query.Encode(), "+", "%20")
	return "file:" + uriEscaper.Replace(filepath.ToSlash(a.path)) + "?" + parameters
}

var uriEscaper = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

// close ends the connection. The last one of a file checkpoints it.
func (c *conn) close() {
	for _, s := range c.stmts {
		_ = s.Close() // repeats the error of the last step
	}
	_ = c.db.Close() // fails only for statements that are left open
}

// leaveUntouched keeps close from checkpointing.
func (c *conn) leaveUntouched() {
	_, _ = c.db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
}

// script runs statements without arguments that are not worth preparing.
func (c *conn) script(statements string) error { return c.db.Exec(statements) }

// exec runs one statement to its end.
func (c *conn) exec(query string, args ...any) error {
	s, err := c.prepare(query, args)
	if err != nil {
		return err
	}
	return s.Exec()
}

// changed counts the rows that the last statement changed.
func (c *conn) changed() int64 { return c.db.Changes() }

// lastID is the number of the row that was inserted last.
func (c *conn) lastID() int64 { return c.db.LastInsertRowID() }

// changes counts the rows that all statements so far changed.
func (c *conn) changes() int64 { return c.db.TotalChanges() }

// inTransaction reports whether one is open; some errors of SQLite end it.
func (c *conn) inTransaction() bool { return !c.db.GetAutocommit() }

// rollback ends the transaction, if SQLite has not done so.
func (c *conn) rollback() error {
	if !c.inTransaction() {
		return nil
	}
	return c.exec("ROLLBACK")
}

// emptyLog moves what is in the write-ahead log into the file, and gives the space of
// the log back. False says that it could not: the file has to grow, or somebody reads
// from the log, who is not waited for.
func (c *conn) emptyLog() bool {
	err := errors.Join(c.db.BusyTimeout(0), c.script("PRAGMA wal_checkpoint(TRUNCATE)"))
	return errors.Join(err, c.db.BusyTimeout(c.busy)) == nil
}

// begin begins a transaction that writes. Only if it lasts, its commit waits
// until it is on the disk; the write-ahead log keeps the order either way.
func (c *conn) begin(lasts lasting) error {
	c.transaction++
	if lasts != c.level {
		// SQLite changes this while it compiles the statement.
		level := map[lasting]string{synced: "FULL", fleeting: "NORMAL"}[lasts]
		if err := c.script("PRAGMA synchronous = " + level); err != nil {
			return err
		}
		c.level = lasts
	}
	return c.exec("BEGIN IMMEDIATE")
}

// first reads the first row of an answer and reports whether there was one.
func (c *conn) first(query string, args []any, dst ...any) (found bool, err error) {
	s, err := c.prepare(query, args)
	if err != nil {
		return false, err
	}
	if found = s.Step(); found {
		err = scan(s, dst)
	} else {
		err = s.Err()
	}
	return found, finish(s, err)
}

// errEnough ends each early; it is no error.
var errEnough = errors.New("enough rows")

// each reads all rows of an answer into dst and calls f after each, until f
// returns errEnough. f must not run the same query.
func (c *conn) each(query string, args []any, f func() error, dst ...any) error {
	s, err := c.prepare(query, args)
	if err != nil {
		return err
	}
	for s.Step() {
		if err := scan(s, dst); err != nil {
			return finish(s, err)
		}
		if err := f(); errors.Is(err, errEnough) {
			return finish(s, nil)
		} else if err != nil {
			return finish(s, err)
		}
	}
	return finish(s, s.Err())
}

// finish makes a statement ready for its next use.
func finish(s *sqlite3.Stmt, err error) error {
	_ = s.Reset() // repeats the error of the last step
	return err
}

func (c *conn) prepare(query string, args []any) (*sqlite3.Stmt, error) {
	s, ok := c.stmts[query]
	if !ok {
		var err error
		if s, _, err = c.db.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT); err != nil {
			return nil, fmt.Errorf("prepare %q: %w", query, err)
		}
		c.stmts[query] = s
	}
	for i, arg := range args {
		if err := bind(s, i+1, arg); err != nil {
			return nil, err
		}
	}
	return s, nil
}
