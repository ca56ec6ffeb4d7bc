package runbundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Summary is what a list tells of a run.
type Summary struct {
	StartedAt, FinishedAt Time
	Status                Status
	// Interrupted is that of the bundle.
	Interrupted bool
	// Steps is the number of finished attempts.
	Steps int
	// Error tells why the run failed, timed out or was cancelled.
	Error string
}

// Summary returns what a list tells of the run; nil for no bundle.
func (b *Bundle) Summary() *Summary {
	if b == nil {
		return nil
	}
	return &Summary{b.State.StartedAt, b.State.FinishedAt, b.State.Status, b.Interrupted(), len(b.State.Steps), b.State.Error}
}

// Summarize is Read for a list. Of a run that has ended it neither decodes the steps
// nor reads the trace but for its end, so that a long run costs a list little; what
// is broken there it does not notice.
func Summarize(dir string) (*Summary, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if !m.Status.Terminal() {
		b, err := Read(dir)
		return b.Summary(), err
	}
	r, err := openReader(dir)
	if err != nil {
		return nil, err
	}
	defer r.root.Close()
	return r.summary()
}

// summary reads that of a run that has ended.
func (r *reader) summary() (*Summary, error) {
	raw, err := readIn(r.root, stateFile, maxStateBytes)
	if err != nil {
		return nil, r.broken(stateFile, err)
	}
	var s struct {
		Schema     string     `json:"schema"`
		StartedAt  Time       `json:"startedAt"`
		FinishedAt Time       `json:"finishedAt"`
		Status     Status     `json:"status"`
		Steps      []struct{} `json:"steps"`
		Error      string     `json:"error"`
	}
	err = json.Unmarshal(raw, &s)
	switch {
	case err != nil:
		return nil, r.broken(stateFile, err)
	case s.Schema != stateSchema:
		return nil, &UnknownSchemaError{Path: filepath.Join(r.dir, stateFile), Schema: s.Schema, Want: stateSchema}
	case !s.Status.Terminal():
		return nil, r.broken(stateFile, errors.New("it shows no end, but the manifest does"))
	}
	last, err := r.lastEvent()
	if err != nil {
		return nil, r.broken(traceFile, err)
	}
	return &Summary{s.StartedAt, s.FinishedAt, s.Status, last == EventRunInterrupted, len(s.Steps), s.Error}, nil
}

// maxEndBytes is where the last line of a trace is looked for. The end of a run is
// shorter: long texts lie beside it.
const maxEndBytes = 64 << 10

// lastEvent returns the type of the last event of a trace that has ended.
func (r *reader) lastEvent() (EventType, error) {
	file, err := openIn(r.root, traceFile, maxTraceBytes)
	if err != nil {
		return "", err
	}
	defer file.Close()
	var end []byte
	info, err := file.Stat()
	if err == nil {
		end = make([]byte, min(info.Size(), maxEndBytes))
		_, err = file.ReadAt(end, info.Size()-int64(len(end)))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the end of %s: %w", traceFile, err)
	}
	lines := bytes.Split(bytes.TrimSuffix(end, []byte("\n")), []byte("\n"))
	var e struct {
		Type EventType `json:"type"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &e); err != nil {
		return "", fmt.Errorf("its last line: %w", err)
	}
	return e.Type, nil
}
