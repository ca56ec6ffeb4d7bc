package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piworkflows/controller"
	"piworkflows/internal/oslock"
)

// Inspection is how a store stands, for those who look after it.
type Inspection struct {
	Version int
	// Bytes is the size of the file, LogBytes that of its write-ahead log.
	Bytes, LogBytes int64
	// Problem is the first that SQLite found in the file; empty if it is sound.
	Problem string
	// Owners are the processes that have the store open for writing, and those that
	// died and were not found out yet.
	Owners []Owner
	// Resources counts those of the project by their controllers.
	Resources map[string]int64
	// Leftovers are files beside the store that nobody needs: drafts of copies that
	// were cut off, and locks of owners that no store knows.
	Leftovers []string
	// Kept are the stores that restorations replaced.
	Kept []string
}

// Owner is a process that has, or had, the store open for writing.
type Owner struct {
	Label string
	Since time.Time
	// Dead says that the process is gone. One whose lock file is missing cannot be
	// judged, and counts as alive.
	Dead bool
}

// Inspect reads the store from end to end, and looks at what lies beside it. It
// changes nothing, so it works with a store that is open for reading.
func (s *Store) Inspect(ctx context.Context) (Inspection, error) {
	i, known, err := s.inspectFile(ctx)
	if err != nil {
		return i, err
	}
	if i.Bytes, err = sizeOf(s.o.Path); err != nil {
		return i, s.o.explain("inspect", err)
	}
	if i.LogBytes, err = sizeOf(s.o.Path + "-wal"); err != nil {
		return i, s.o.explain("inspect", err)
	}
	i.Leftovers, i.Kept, err = s.beside(known)
	return i, s.o.explain("inspect", err)
}

// inspectFile looks at what the file says; known are the instances of its owners.
func (s *Store) inspectFile(ctx context.Context) (i Inspection, known []string, err error) {
	i.Resources = map[string]int64{}
	_, err = read(ctx, s, "inspect", func(t *tx) (struct{}, error) {
		err := t.sound(s.o.Path, "quick_check")
		if damaged, ok := errors.AsType[*DamagedError](err); ok {
			i.Problem = damaged.Problem // nothing else that it says can be relied on
			return struct{}{}, nil
		}
		if err != nil {
			return struct{}{}, err
		}
		if i.Version, err = recordedVersion(t.conn, s.o.Path); err != nil {
			return struct{}{}, err
		}
		if err := t.countResources(i.Resources); err != nil {
			return struct{}{}, err
		}
		known, i.Owners, err = t.owners(s)
		return struct{}{}, err
	})
	return i, known, err
}

// CountResources implements controller.ResourceCounter.
func (s *Store) CountResources(ctx context.Context) (map[string]int64, error) {
	return read(ctx, s, "count resources", func(t *tx) (map[string]int64, error) {
		n := map[string]int64{}
		return n, t.countResources(n)
	})
}

var _ controller.ResourceCounter = (*Store)(nil)

func (t *tx) countResources(into map[string]int64) error {
	var name string
	var n int64
	return t.each("SELECT controller, count(*) FROM resources WHERE scope = ? GROUP BY controller", values(t.scope), func() error {
		into[name] = n
		return nil
	}, &name, &n)
}

func (t *tx) owners(s *Store) (known []string, list []Owner, err error) {
	var instance string
	var o Owner
	err = t.each("SELECT instance, started_at, label FROM owners ORDER BY started_at", nil, func() (err error) {
		if o.Dead, err = s.dead(instance); err != nil {
			return err
		}
		known, list = append(known, instance), append(list, o)
		return nil
	}, &instance, &o.Since, &o.Label)
	return known, list, err
}

func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err //nolint:wrapcheck // the caller explains it
	}
	return info.Size(), nil
}

// beside finds what lies beside the store. A lock of an owner of another store in
// the same folder is not known to this one, so only locks that nobody holds count.
func (s *Store) beside(known []string) (leftovers, kept []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(s.o.Path))
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller explains it
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(s.o.Path)+".")
		path := filepath.Join(filepath.Dir(s.o.Path), e.Name())
		switch {
		case !ours:
		case strings.Contains(rest, ".tmp"):
			leftovers = append(leftovers, path)
		case strings.HasPrefix(rest, "before-restore-"):
			kept = append(kept, path)
		}
	}
	locks, err := ownerLocks(s.o.Path)
	for _, lock := range locks {
		if slices.Contains(known, strings.TrimSuffix(filepath.Base(lock), ".lock")) {
			continue
		}
		if held, err := oslock.Held(lock); err == nil && !held {
			leftovers = append(leftovers, lock)
		}
	}
	return leftovers, kept, err
}
