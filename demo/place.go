package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"piworkflows/internal/durable"
)

// markerName is the file that says that a folder is a demo's, and how far it
// got. Only such a folder is ever removed from.
const markerName = "pi-workflows-demo.json"

const markerSchema = "pi-workflows.demo.v1"

// stage is how far a demo got; each is durable before the next begins.
type stage string

const (
	// clearing: what an earlier demo left is being removed.
	clearing stage = "clearing"
	// building: the repository may be there in part.
	building stage = "building"
	// running: the repository is complete and Heads are its branches.
	running stage = "running"
	// finished: every branch ended as it should.
	finished stage = "finished"
)

// marker is the content of the marker file.
type marker struct {
	Schema string `json:"schema"`
	Stage  stage  `json:"stage"`
	// Heads are the commits that the branches had when the demo made them, by
	// key.
	Heads map[string]string `json:"heads,omitempty"`
}

// place is the folder of one demo.
type place struct {
	dir string
	fs  *durable.FS
}

// NotOursError refuses a folder that holds something else than a demo.
type NotOursError struct{ Dir string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("the folder %s is not empty and was not made by the demo: give another one with --dir", e.Dir)
}

// ErrorCode is the stable code of the error.
func (*NotOursError) ErrorCode() string { return "not_a_demo" }

// open reads the marker. A folder that is missing or empty is ours to take and
// has no stage yet.
func (p place) open() (marker, error) {
	raw, err := os.ReadFile(filepath.Join(p.dir, markerName))
	if err == nil {
		var m marker
		if json.Unmarshal(raw, &m) != nil || m.Schema != markerSchema {
			return marker{}, &NotOursError{Dir: p.dir}
		}
		return m, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return marker{}, fmt.Errorf("read the folder of the demo: %w", err)
	}
	return marker{}, p.take()
}

// take makes an empty folder ours. What a demo that was killed left of its very
// first marker does not count.
func (p place) take() error {
	entries, err := os.ReadDir(p.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the folder of the demo: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), markerName+".") {
			return &NotOursError{Dir: p.dir}
		}
		if err := p.fs.Remove(filepath.Join(p.dir, entry.Name())); err != nil {
			return err
		}
	}
	return p.fs.MkdirAll(p.dir)
}

// advance makes a stage durable.
func (p place) advance(m marker) error {
	m.Schema = markerSchema
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write down how far the demo got: %w", err)
	}
	return p.fs.Replace(filepath.Join(p.dir, markerName), append(raw, '\n'), true)
}
