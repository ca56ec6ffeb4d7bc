package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"piworkflows/controller"
)

// maxInput bounds what is read from a file or stdin, in bytes: room for a value
// at its limit that is written with many blanks.
const maxInput = 8 << 20

// source is a JSON value that is given as an argument, in a file, or on stdin.
type source struct{ literal, file string }

func (s source) given() bool { return s.literal != "" || s.file != "" }

// read returns the text of the value; it is not checked.
func (s source) read(stdin io.Reader) (json.RawMessage, error) {
	if s.file == "" {
		return json.RawMessage(s.literal), nil
	}
	name := "the file " + s.file
	if s.file == "-" {
		return readAll("stdin", stdin)
	}
	f, err := os.Open(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingFileError{s.file}
	}
	if err != nil {
		return nil, fmt.Errorf("read the value: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, &FileError{Path: s.file, Reason: "it is a folder: name a file, or - for stdin"}
	}
	return readAll(name, f)
}

// MissingFileError says that there is no file from which to read a value.
type MissingFileError struct{ Path string }

func (e *MissingFileError) Error() string {
	return fmt.Sprintf("cannot read %s: there is no such file: check the path, or give - for stdin", e.Path)
}

// ErrorCode is the stable code of the error.
func (*MissingFileError) ErrorCode() string { return "file_not_found" }

// FileError says that a file cannot hold a value.
type FileError struct{ Path, Reason string }

func (e *FileError) Error() string { return fmt.Sprintf("cannot read %s: %s", e.Path, e.Reason) }

// ErrorCode is the stable code of the error.
func (*FileError) ErrorCode() string { return "invalid_file" }

func readAll(name string, r io.Reader) (json.RawMessage, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxInput {
		return nil, &controller.LimitError{What: name, Limit: maxInput, Size: len(text), Unit: "bytes"}
	}
	return text, nil
}
