package sqlite

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

const (
	// schemaID says that a file is ours; applicationID says it in the header of
	// the file, where it is seen without opening a database.
	schemaID      = "pi-workflows.go.controller-store"
	applicationID = 0x70695766 // "piWf"
)

//go:embed schema.sql
var schemaV1 string

// migrations lead from one version to the next; the first one makes the schema.
var migrations = []string{schemaV1}

// version is the schema version that this program writes.
func version() int { return len(migrations) }

// comment is one in a migration; none has a text with two hyphens in it.
var comment = regexp.MustCompile(`--[^\n]*`)

// digest tells the tables of a version from those of another build that gave them the
// same number. Comments and blanks make no difference.
func digest(version int) string {
	text := comment.ReplaceAllString(strings.Join(migrations[:version], "\n"), "")
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(text), " ")))
	return hex.EncodeToString(sum[:])
}

// migrate brings the file to our version. A new file gets its schema while it
// still has a rollback journal, so that its header tells what it is from the
// first byte on; then it becomes a WAL file for good.
func migrate(c *conn, path string, now time.Time) error {
	found, err := schemaVersion(c, path)
	if err == nil && found < version() {
		err = upgrade(c, path, now)
	}
	if err != nil {
		return err
	}
	var mode string
	if _, err := c.first("PRAGMA journal_mode = WAL", nil, &mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system of %s has no shared memory: put the store on a local disk", path)
	}
	return nil
}

func upgrade(c *conn, path string, now time.Time) (err error) {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() { _ = c.rollback() }() // does nothing after the commit
	found, err := schemaVersion(c, path)
	if err != nil {
		return err
	}
	for v := found + 1; v <= version(); v++ {
		if err := c.script(migrations[v-1]); err != nil {
			return fmt.Errorf("migrate to version %d: %w", v, err)
		}
		if err := c.exec("INSERT INTO schema_migrations VALUES (?, ?)", v, now); err != nil {
			return err
		}
	}
	return stamp(c)
}

// stamp writes who we are and commits.
func stamp(c *conn) error {
	if err := c.exec("INSERT OR REPLACE INTO schema_info VALUES (1, ?, ?, ?)", schemaID, version(), digest(version())); err != nil {
		return err
	}
	return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		applicationID, version()))
}

// schemaVersion returns 0 for an empty file, and an error for one that we must
// not touch.
func schemaVersion(c *conn, path string) (int, error) {
	var id, tables int
	// In this order: another process may be making the tables, and the mark
	// comes with them.
	if _, err := c.first("SELECT count(*) FROM sqlite_schema", nil, &tables); err != nil {
		return 0, err
	}
	if _, err := c.first("PRAGMA application_id", nil, &id); err != nil {
		return 0, err
	}
	if id == 0 && tables == 0 {
		return 0, nil
	}
	if id != applicationID {
		return 0, &ForeignStoreError{Path: path}
	}
	return recordedVersion(c, path)
}

func recordedVersion(c *conn, path string) (int, error) {
	var found int
	var name string
	if _, err := c.first("SELECT schema_id, version FROM schema_info", nil, &name, &found); err != nil {
		return 0, err
	}
	if name != schemaID {
		return 0, &ForeignStoreError{Path: path, SchemaID: name}
	}
	if found < 1 || found > version() {
		return 0, &VersionError{Path: path, Version: found, Known: version()}
	}
	return found, checkDigest(c, path, found)
}

// checkDigest refuses the tables of another build. One that knew of no digests yet
// has no such column.
func checkDigest(c *conn, path string, version int) error {
	var recorded string
	_, err := c.first("SELECT digest FROM schema_info", nil, &recorded)
	if errors.Is(err, sqlite3.ERROR) || err == nil && recorded != digest(version) {
		return &SchemaError{Path: path, Version: version}
	}
	return err
}
