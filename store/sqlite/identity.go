package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// The header of an SQLite file, https://sqlite.org/fileformat2.html.
const (
	headerSize          = 100
	headerMagic         = "SQLite format 3\x00"
	headerUserVersion   = 60
	headerApplicationID = 68
)

// identify refuses a file that is not ours by looking at its first bytes only:
// opening it as a database would leave traces beside it. A file that is empty,
// or begins with zeros, may be one that another process is making: SQLite and
// its locks tell. A version that only the write-ahead log knows is found by
// migrate.
func identify(path string) error {
	header, err := readHeader(path)
	if err != nil || len(bytes.Trim(header, "\x00")) == 0 {
		return err
	}
	if len(header) < headerSize || !bytes.HasPrefix(header, []byte(headerMagic)) {
		return &ForeignStoreError{Path: path}
	}
	if binary.BigEndian.Uint32(header[headerApplicationID:]) != applicationID {
		return &ForeignStoreError{Path: path, SchemaID: foreignID(path)}
	}
	if found := int(binary.BigEndian.Uint32(header[headerUserVersion:])); found > version() {
		return &VersionError{Path: path, Version: found, Known: version()}
	}
	return nil
}

func readHeader(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read header: %w", err)
	}
	defer file.Close()
	header := make([]byte, headerSize)
	n, err := io.ReadFull(file, header)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read header: %w", err)
	}
	return header[:n], nil
}

// foreignID reads how another implementation names its schema, for the error
// message. It takes no lock and leaves nothing behind; what it cannot read it
// leaves out.
func foreignID(path string) string {
	c, err := openConn(access{path: path, mode: "ro", immutable: true})
	if err != nil {
		return ""
	}
	defer c.close()
	var name string
	if _, err := c.first("SELECT schema_id FROM schema_info", nil, &name); err != nil {
		return ""
	}
	return name
}

// isDatabase reports whether SQLite can read what tables a file has. It takes no
// lock and leaves nothing behind.
func isDatabase(path string) bool {
	c, err := openConn(access{path: path, mode: "ro", immutable: true})
	if err != nil {
		return false
	}
	defer c.close()
	var tables int
	_, err = c.first("SELECT count(*) FROM sqlite_schema", nil, &tables)
	return err == nil
}
