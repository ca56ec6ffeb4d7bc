package runbundle

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// trace reads the whole lines of the trace that the bundle does not have.
func (r *reader) trace(b *Bundle) error {
	file, err := openIn(r.root, traceFile, maxTraceBytes)
	if err != nil {
		return r.broken(traceFile, err)
	}
	defer file.Close()
	if err := skip(file, b.whole); err != nil {
		return r.broken(traceFile, err)
	}
	lines := bufio.NewReaderSize(file, 64<<10)
	for number := len(b.Events) + 1; ; number++ {
		line, err := readLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			b.Torn = len(line) > 0
			return nil
		case err != nil:
			return &CorruptError{Path: filepath.Join(r.dir, traceFile), Line: number, Err: err}
		}
		e, err := r.event(line, number, b.State.RunID)
		if err != nil {
			return &CorruptError{Path: filepath.Join(r.dir, traceFile), Line: number, Err: err}
		}
		b.Events = append(b.Events, e)
		b.whole += int64(len(line))
	}
}

// skip passes over the lines that were read before.
func skip(file *os.File, whole int64) error {
	info, err := file.Stat()
	if err == nil && info.Size() < whole {
		return errShrunk
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("skip to byte %d: %w", whole, err)
	}
	return nil
}

// readLine returns the next line with its newline, or io.EOF and what is left
// of a torn one.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLineBytes:
			return nil, fmt.Errorf("longer than %d bytes", maxLineBytes)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return line, io.EOF
		case err != nil:
			return nil, fmt.Errorf("read: %w", err)
		}
		return line, nil
	}
}

// event decodes one line.
func (r *reader) event(line []byte, number int, runID string) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("decode: %w", err)
	}
	switch {
	case e.Seq != int64(number):
		return e, fmt.Errorf("it is event %d, not %d", e.Seq, number)
	case e.RunID != runID:
		return e, fmt.Errorf("it belongs to run %.200q", e.RunID)
	case len(e.Payload) == 0 || e.Payload[0] != '{':
		return e, errors.New("its payload is not an object")
	}
	payload, err := r.long.decode(e.Payload)
	if err != nil {
		return e, err
	}
	e.Payload = payload
	return e, nil
}
