package cli

import (
	"encoding/json"
	"fmt"
	"io"
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
	if err != nil {
		return nil, fmt.Errorf("read the value: %w", err)
	}
	defer f.Close()
	return readAll(name, f)
}

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
