package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"piworkflows/clock"
	"piworkflows/host"
	"piworkflows/internal/watch"
	"piworkflows/runbundle"
	"piworkflows/runbundle/spool"
	"piworkflows/runqueue"
	"piworkflows/view"
	"piworkflows/workflow"
)

// streamError is the stream of the text that tells why a step failed.
const streamError = "error"

// aliveness is how often who follows a run asks whether anybody still runs it: a
// process that is killed tells nobody.
const aliveness = 5 * time.Second

// logs is what one run printed: of attempts that are spooled the spool, of all
// others the record.
type logs struct {
	bundle *runbundle.Bundle
	dir    string // of the spools
	store  host.Store
	clock  clock.Clock
	spool  *spool.Reader
	// node is the only one that counts, unless it is empty.
	node string
	// shown are the attempts that need no second look, notKept counts those of which
	// there is nothing.
	shown   map[string]bool
	notKept int
}

// NodeError says that a run has no such node.
type NodeError struct{ RunID, Node string }

func (e *NodeError) Error() string {
	return fmt.Sprintf("run %s has no node %q: see its nodes with view %s", e.RunID, view.Fit(view.Plain(e.Node), maxShownValue), e.RunID)
}

// ErrorCode is the stable code of the error.
func (*NodeError) ErrorCode() string { return "node_not_found" }

func (a *App) openLogs(ctx context.Context, paths host.Paths, s host.Store, runID, node string) (*logs, error) {
	b, err := findRun(ctx, paths, s, runID)
	if err != nil {
		return nil, err
	}
	g, err := view.ReadGraph(b.Workflow)
	if err != nil {
		return nil, err
	}
	if node != "" && !slices.ContainsFunc(g.Nodes, func(n view.Node) bool { return n.ID == node }) {
		return nil, &NodeError{runID, node}
	}
	r, err := spool.NewReader(paths.Spool, runID)
	return &logs{
		bundle: b, dir: paths.Spool, store: s, clock: a.o.Clock, spool: r, node: node, shown: map[string]bool{},
	}, err
}

func (l *logs) ended() bool { return l.bundle.State.Status.Terminal() }

// catchUp hands on what there is until now, in the order of the steps.
func (l *logs) catchUp(take func(outputPiece) error) error {
	// In this order: what is not spooled any more when we come to it is recorded
	// by then.
	spooled, err := l.spool.Attempts()
	if err != nil {
		return err
	}
	if err := l.recorded(take, spooled, true); err != nil {
		return err
	}
	if err := l.next(take); err != nil {
		return err
	}
	return l.recorded(take, nil, true)
}

// next hands on what is new in the spool.
func (l *logs) next(take func(outputPiece) error) error {
	return l.spool.Next(func(p spool.Piece) error {
		l.shown[p.AttemptID] = true
		return l.take(take, outputPiece{p.NodeID, p.AttemptID, p.Stream, p.Text, clock.Format(p.At), p.Dropped})
	})
}

func (l *logs) take(take func(outputPiece) error, o outputPiece) error {
	if l.node != "" && o.Node != l.node {
		return nil
	}
	return take(o)
}

// recorded hands on what the record has of the steps that were not shown yet and
// are not spooled. It counts those of which there is nothing, if that is wanted.
func (l *logs) recorded(take func(outputPiece) error, spooled []string, count bool) (err error) {
	if l.bundle, err = l.bundle.Next(); err != nil {
		return err
	}
	for _, s := range l.bundle.State.Steps {
		if l.shown[s.AttemptID] || slices.Contains(spooled, s.AttemptID) {
			continue
		}
		l.shown[s.AttemptID] = true
		pieces, kept := outputOf(s)
		if !kept && count && (l.node == "" || l.node == s.NodeID) {
			l.notKept++
		}
		for _, o := range pieces {
			if err := l.take(take, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// outputOf is what the record of a step has of its output. It is not kept if the
// step may have printed more.
func outputOf(s runbundle.Step) (list []outputPiece, kept bool) {
	add := func(stream, text string) {
		if text != "" {
			list = append(list, outputPiece{Node: s.NodeID, Attempt: s.AttemptID, Stream: stream, Text: text})
		}
	}
	if s.Error != "" {
		add(streamError, s.Error+"\n")
	}
	shell := s.Action != nil && s.Action.ActionType == runbundle.ActionShell
	if !shell {
		return list, s.NodeType != string(workflow.TypeAgent)
	}
	var result struct {
		Command *string `json:"command"`
		Stdout  *string `json:"stdout"`
		Stderr  *string `json:"stderr"`
	}
	if json.Unmarshal(s.Output, &result) != nil || result.Command == nil || result.Stdout == nil || result.Stderr == nil {
		return list, false
	}
	add(spool.Stdout, *result.Stdout)
	add(spool.Stderr, *result.Stderr)
	return list, true
}

// follow hands on what comes until the run leaves its process.
func (l *logs) follow(ctx context.Context, take func(outputPiece) error) (err error) {
	w, err := l.watch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for {
		if _, err := w.Add(l.spool.Dir()); err != nil {
			return err
		}
		if err := l.next(take); err != nil {
			return err
		}
		over, err := l.wait(ctx, w)
		if err != nil {
			return err
		}
		if over {
			break
		}
	}
	if err := l.next(take); err != nil {
		return err
	}
	return l.recorded(take, nil, false)
}

// watch begins to watch the places where it can be seen that something happened.
func (l *logs) watch() (*watch.Watcher, error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of running output: %w", err)
	}
	w, err := watch.New()
	if err != nil {
		return nil, err
	}
	_, err = w.Add(l.bundle.Dir, "manifest.json")
	if err == nil {
		_, err = w.Add(l.dir, filepath.Base(l.spool.Dir()))
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

var errLook = errors.New("look whether the run goes on")

// wait waits until something happened, and says whether the run left its process.
func (l *logs) wait(ctx context.Context, w *watch.Watcher) (over bool, err error) {
	m, err := runbundle.ReadManifest(l.bundle.Dir)
	if err != nil || m.Status.Terminal() {
		return true, err
	}
	waiting, cancel := clock.WithTimeoutCause(ctx, l.clock, aliveness, errLook)
	defer cancel()
	err = w.Wait(waiting)
	if errors.Is(err, errLook) {
		return !l.held(ctx), nil
	}
	return false, err
}

// held reports whether a process runs the run, or will. A run that the store does
// not know is taken to go on.
func (l *logs) held(ctx context.Context) bool {
	if l.store == nil {
		return true
	}
	row, err := l.store.Run(ctx, l.bundle.State.RunID)
	if err != nil || row.Status == runqueue.Queued {
		return true
	}
	owned, err := runbundle.Owned(l.bundle.Dir)
	return row.Holder != "" && (owned || err != nil)
}
