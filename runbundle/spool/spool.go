// Package spool keeps what the commands and agents of a running run print, so
// that people can look on. It is no part of the record: it lies in a folder
// beside the bundles, is bounded, and goes when its owner gives the run up.
//
// In the folder of spools a run has a folder of its own, with one file for each
// attempt that prints something, and a lock that lives as long as its owner:
//
//	.<runId>.lock
//	<runId>/000001-<attemptId>.ndjson
//
// The first line of a file says which attempt it is of; each of the others is a
// piece of output, and the last may say that the rest was dropped. A torn last
// line is being written.
package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"piworkflows/clock"
	"piworkflows/internal/durable"
	"piworkflows/internal/oslock"
)

// The bounds of a spool. The last attempts are what people look at; the record
// has how the others ended.
const (
	// DefaultBytes is how large the file of one attempt becomes.
	DefaultBytes = 4 << 20
	// MaxAttempts is how many files a run has: the newest ones.
	MaxAttempts = 16
)

// Options say how a run is spooled. The zero value of a field takes its default.
type Options struct {
	// Dir is the folder of spools. Empty spools nothing.
	Dir string
	// RunID names the run. The caller owns its bundle.
	RunID string
	// Bytes bounds the file of one attempt; DefaultBytes by default.
	Bytes int64
	// Tell, if set, hears of each piece when it is printed, also of those that are
	// not kept, in order and one at a time within an attempt. It holds up who
	// prints, and must not use the spool.
	Tell func(Piece)
	// FS is the file layer, Clock tells the time of each piece, Logger hears of
	// what could not be spooled; the operating system's, clock.System and nothing
	// by default.
	FS     *durable.FS
	Clock  clock.Clock
	Logger *slog.Logger
}

// Spool is the spool of one run. Its attempts follow one another: the file of one
// is closed before the next one is taken.
type Spool struct {
	o     Options
	lock  *oslock.Lock
	files []string // that exist, the oldest first
	made  int
}

// New returns the spool of a run, and removes what a dead owner of the same run
// left. Nothing is written before something is printed.
func New(o Options) *Spool {
	if o.Bytes == 0 {
		o.Bytes = DefaultBytes
	}
	if o.FS == nil {
		o.FS = durable.OS()
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Spool{o: o}
	if o.Dir != "" {
		s.tell("remove what an earlier owner left", sweep(o.FS, o.Dir, o.RunID))
	}
	return s
}

// tell logs what went wrong: a spool is a courtesy, and ends no run.
func (s *Spool) tell(what string, err error) {
	if err != nil {
		s.o.Logger.Warn("output of a running run cannot be spooled", "what", what, "runId", s.o.RunID, "error", err)
	}
}

// Attempt returns the file of an attempt that begins.
func (s *Spool) Attempt(nodeID, attemptID string) *File {
	return &File{
		spool: s, head: head{Schema: schema, RunID: s.o.RunID, NodeID: nodeID, AttemptID: attemptID}, full: s.o.Dir == "",
	}
}

// create makes the file of an attempt, and removes the oldest if there are too
// many.
func (s *Spool) create(attemptID string) (*durable.AppendFile, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if len(s.files) == MaxAttempts {
		s.tell("remove the oldest attempt", s.o.FS.Remove(s.files[0]))
		s.files = s.files[1:]
	}
	s.made++
	path := filepath.Join(s.dir(), fmt.Sprintf("%06d-%s%s", s.made, attemptID, suffix))
	file, err := s.o.FS.OpenAppend(path)
	if err == nil {
		s.files = append(s.files, path)
	}
	return file, err
}

// prepare makes the folder of the run. Whoever sweeps may hold the lock for a
// moment.
func (s *Spool) prepare() error {
	if s.lock != nil {
		return nil
	}
	if err := s.o.FS.MkdirAll(s.o.Dir); err != nil {
		return err
	}
	err := oslock.Patiently(context.Background(), func() (err error) {
		s.lock, err = oslock.TryLock(lockPath(s.o.Dir, s.o.RunID))
		return err
	})
	if err != nil {
		return err
	}
	return s.o.FS.MkdirAll(s.dir())
}

func (s *Spool) dir() string { return filepath.Join(s.o.Dir, s.o.RunID) }

// Remove ends the spool and removes all of it.
func (s *Spool) Remove() {
	if s.lock == nil {
		return
	}
	s.tell("remove all", errors.Join(s.o.FS.RemoveAll(s.dir()), s.lock.Remove()))
	s.lock = nil
}
