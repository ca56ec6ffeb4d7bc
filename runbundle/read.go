package runbundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The most that a reader loads of one file. The bounds are far above what the
// limits of a run allow, and keep a broken file from filling the memory.
const (
	maxManifestBytes = 1 << 20
	maxWorkflowBytes = 64 << 20
	maxStateBytes    = 1 << 30
	maxTraceBytes    = 1 << 30
	maxLineBytes     = 16 << 20
)

// Bundle is one recorded run in plain form.
type Bundle struct {
	Dir string
	// Manifest goes with State, also when the file lags behind.
	Manifest Manifest
	// Workflow is the content of workflow.json.
	Workflow json.RawMessage
	// State has every event folded in.
	State State
	// Events are the whole lines of the trace.
	Events []Event
	// Torn says that a part of a line follows them: it is being written, or its
	// writer was killed.
	Torn bool

	stale bool  // the projections on disk lag behind the trace
	whole int64 // bytes of the whole lines
}

// Interrupted reports whether the run ended because its host went away.
func (b *Bundle) Interrupted() bool {
	return len(b.Events) > 0 && b.Events[len(b.Events)-1].Type == EventRunInterrupted
}

// Read loads a bundle, folds the end of its trace into the state, and changes
// nothing. It may be called while a run goes on. A missing folder, and a folder
// without a manifest, which is a start that was never finished, are
// fs.ErrNotExist; all else that is wrong with a file is a *CorruptError or an
// *UnknownSchemaError.
func Read(dir string) (*Bundle, error) {
	r, err := openReader(dir)
	if err != nil {
		return nil, err
	}
	defer r.root.Close()
	b := &Bundle{Dir: dir}
	// In this order: what is read later is never older than what came before.
	if b.Manifest, err = r.manifest(); err != nil {
		return nil, err
	}
	if b.Workflow, err = r.document(workflowFile, maxWorkflowBytes, snapshotSchema); err != nil {
		return nil, err
	}
	if err := r.state(&b.State); err != nil {
		return nil, err
	}
	if err := r.trace(b); err != nil {
		return nil, err
	}
	if err := b.foldTail(); err != nil {
		return nil, &CorruptError{Path: filepath.Join(dir, traceFile), Err: err}
	}
	b.settle()
	return b, nil
}

// settle brings the manifest to the state.
func (b *Bundle) settle() {
	b.stale = b.stale || b.Manifest.Status != b.State.Status
	b.Manifest.Status, b.Manifest.FinishedAt = b.State.Status, b.State.FinishedAt
}

// foldTail brings the state to the end of the trace.
func (b *Bundle) foldTail() error {
	s := &b.State
	if s.TraceSeq > int64(len(b.Events)) {
		return fmt.Errorf("it ends with event %d, but %s has event %d folded in: events were lost", len(b.Events), stateFile, s.TraceSeq)
	}
	known := b.Events[:s.TraceSeq]
	s.recallAttempt(known)
	b.stale = len(known) < len(b.Events)
	for _, e := range b.Events[len(known):] {
		if err := Fold(s, e); err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
	}
	return nil
}

// recallAttempt finds what state.json does not keep of the running attempt.
func (s *State) recallAttempt(events []Event) {
	for i := len(events) - 1; i >= 0 && s.CurrentAttemptID != ""; i-- {
		if events[i].AttemptID != s.CurrentAttemptID {
			continue
		}
		p, err := events[i].Decode()
		if err != nil {
			continue // an event that was folded long ago
		}
		switch p := p.(type) {
		case PromptSent:
			s.attempt.prompt = textOf(p.Prompt)
		case NodeStarted:
			s.attempt.nodeType = p.NodeType
			return
		}
	}
}

// reader reads the files of one bundle.
type reader struct {
	dir  string
	root *os.Root
	long *decoder
}

// openReader opens the folder of a bundle, which must not be a link.
func openReader(dir string) (*reader, error) {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = &CorruptError{Path: dir, Err: errors.New("not a folder")}
	}
	if err != nil {
		return nil, fmt.Errorf("read run bundle: %w", err)
	}
	long := decoderIn(dir)
	if long.root, err = os.OpenRoot(dir); err != nil {
		return nil, fmt.Errorf("read run bundle: %w", err)
	}
	return &reader{dir: dir, root: long.root, long: long}, nil
}

// document reads one JSON file and checks what it says that it is.
func (r *reader) document(name string, limit int64, schema string) (json.RawMessage, error) {
	raw, err := readIn(r.root, name, limit)
	if err != nil {
		return nil, r.broken(name, err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, r.broken(name, err)
	}
	if head.Schema != schema {
		return nil, &UnknownSchemaError{Path: filepath.Join(r.dir, name), Schema: head.Schema, Want: schema}
	}
	return raw, nil
}

func (r *reader) broken(name string, err error) error {
	return &CorruptError{Path: filepath.Join(r.dir, name), Err: err}
}

// manifest reads manifest.json as it is on disk.
func (r *reader) manifest() (Manifest, error) {
	var m Manifest
	if _, err := r.root.Lstat(manifestFile); errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("run bundle %s has no manifest, its start was never finished: %w", r.dir, err)
	}
	raw, err := r.document(manifestFile, maxManifestBytes, manifestSchema)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, r.broken(manifestFile, err)
	}
	if err := m.check(); err != nil {
		return m, r.broken(manifestFile, err)
	}
	return m, nil
}

// state reads state.json and puts its long texts in place.
func (r *reader) state(s *State) error {
	raw, err := r.document(stateFile, maxStateBytes, stateSchema)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, s); err != nil {
		return r.broken(stateFile, err)
	}
	if err := s.check(); err != nil {
		return r.broken(stateFile, err)
	}
	s.normalise()
	if err := s.mapValues(r.long.decode); err != nil {
		return r.broken(stateFile, err)
	}
	return nil
}

// check reports what keeps a state from being one.
func (s *State) check() error {
	switch {
	case CheckRunID(s.RunID) != nil:
		return errors.New("runId is missing or no run ID")
	case s.TraceSeq < 0:
		return errors.New("traceSeq is negative")
	case !s.Status.known():
		return errors.New("status is missing or unknown")
	case s.StartedAt.IsZero():
		return errors.New("startedAt is missing")
	case s.Input == nil || s.Outputs == nil || s.Results == nil || s.Steps == nil:
		return errors.New("input, outputs, results or steps is missing")
	}
	for node, result := range s.Results {
		if !result.Outcome.known() {
			return fmt.Errorf("the result of node %.200q has an unknown outcome", node)
		}
	}
	for i, step := range s.Steps {
		if !step.Outcome.known() {
			return fmt.Errorf("step %d has an unknown outcome", i)
		}
	}
	return nil
}

// normalise gives an absent value its one form in memory.
func (s *State) normalise() {
	for i := range s.Steps {
		s.Steps[i].normalise()
	}
	if s.Updates == nil {
		s.Updates = []Update{} // absent in bundles of old writers
	}
	for i := range s.Updates {
		// The file is indented. Other values lose that when they are decoded.
		if data, err := compact(s.Updates[i].Data); err == nil {
			s.Updates[i].Data = data
		}
	}
}

func (s *Step) normalise() {
	if string(s.Prompt) == "null" {
		s.Prompt = nil
	}
	if s.Outcome != OutcomeOK {
		s.Output = nil
	}
}
