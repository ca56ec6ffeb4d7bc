// Package fswatch is a source that tells when something changes below a folder.
//
//	fswatch.New("notes", fswatch.Options{
//		Root:   "/srv/notes",
//		Ignore: []string{"*.tmp", "drafts"},
//		Keys:   func(path string) []string { return []string{strings.TrimSuffix(path, ".md")} },
//	})
//
// The events of the system only say where to look: what changed is found by
// comparing the folder with what was there before. So it makes no difference
// whether an event came twice, too late, or never because there were too many, and
// where the system cannot watch, looking at intervals does.
//
// Symbolic links are entries like others and are not followed, but for the root.
//
// Spec: Sources and workers. docs/sources.md shows how to declare one.
package fswatch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"piworkflows/controller"
)

// Defaults of Options.
const (
	// DefaultQuiet gathers what an editor or a checkout does at once.
	DefaultQuiet = 200 * time.Millisecond
	// DefaultInterval is a compromise between how late and how often.
	DefaultInterval = 30 * time.Second
	// DefaultMaxPaths needs about 50 MB.
	DefaultMaxPaths = 250_000
)

// longestWait is how many times Quiet a change waits at most while others go on.
const longestWait = 10

// Options say what is watched and what it is about. Root and Keys are required.
type Options struct {
	// Root is the absolute path of a folder. While there is none it is looked for
	// at intervals.
	Root string
	// Ignore has patterns as path.Match takes them. One without a slash is compared
	// with each name, one with a slash with the path from the root; what is below
	// an ignored folder is ignored. .git always is.
	Ignore []string
	// Keys maps a path to the keys of the resources that it is about. Paths are
	// relative to the root and have slashes; the root itself is ".". It is called
	// for files, folders and links that are new, changed or gone, and when a
	// process begins to watch, for everything that is there. A panic is told, and
	// the path passed over.
	Keys func(path string) []string
	// Quiet is how long nothing more may happen before changes are looked at; they
	// wait ten times as long at most.
	Quiet time.Duration
	// Interval is the time between two looks at everything where the system does not
	// tell what changes.
	Interval time.Duration
	// Poll looks at intervals only: for file systems on which others write, such as
	// NFS, where the system hears of nothing.
	Poll bool
	// MaxPaths bounds the files and folders that are remembered: more of them are a
	// *controller.LimitError.
	MaxPaths int
}

// Source is a controller.Source over a folder. Make one with New.
type Source struct {
	name    string
	options Options
	ignore  ignore

	// running guards what follows: it outlives a run, so that what happens between
	// two of them is found.
	running sync.Mutex
	tree    *tree
	owed    owed

	// open and add are those of fsnotify; tests bound them.
	open func() (*fsnotify.Watcher, error)
	add  func(w *fsnotify.Watcher, dir string) error
}

// New makes a source. What is wrong with the options is found by Check, which
// controller.NewRegistry calls.
func New(name string, o Options) *Source {
	o.Root = filepath.Clean(o.Root)
	if o.Quiet == 0 {
		o.Quiet = DefaultQuiet
	}
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.MaxPaths == 0 {
		o.MaxPaths = DefaultMaxPaths
	}
	s := &Source{name: name, options: o, ignore: newIgnore(o.Ignore), open: fsnotify.NewWatcher, add: (*fsnotify.Watcher).Add}
	s.tree = &tree{root: o.Root, ignore: s.ignore, most: o.MaxPaths}
	s.owed = owed{keys: map[string]struct{}{}, mapping: o.Keys}
	return s
}

// Name implements controller.Source.
func (s *Source) Name() string { return s.name }

// Check implements controller.SourceChecker.
func (s *Source) Check(string) error {
	o := s.options
	var problems []error
	if !filepath.IsAbs(o.Root) {
		problems = append(problems, fmt.Errorf("the Root %.200q is no absolute path", o.Root))
	}
	if o.Keys == nil {
		problems = append(problems, errors.New("no Keys: give the function that maps a path to keys"))
	}
	if o.Quiet < 0 || o.Interval < 0 || o.MaxPaths < 0 {
		problems = append(problems, errors.New("one of Quiet, Interval and MaxPaths is negative"))
	}
	return errors.Join(append(problems, s.ignore.check()...)...)
}

// errTwice refuses a second run of one source.
var errTwice = errors.New("the source is run by another host in this process: give each host a source of its own")

// Run implements controller.Source. The cursor is not used: what changed while
// nobody watched is not known, so a process begins with everything.
func (s *Source) Run(ctx context.Context, in controller.Intake) error {
	if !s.running.TryLock() {
		return errTwice
	}
	defer s.running.Unlock()
	r := &run{Source: s, in: in, marks: newMarks(in.Clock)}
	defer r.unwatch()
	for {
		if err := r.round(ctx); err != nil {
			return err
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}
