package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"piworkflows/internal/oslock"
)

// A restoration puts another file in the place of the store. It holds the gate
// while it does, and looks whether an owner lives after it has taken it; an owner
// looks at the gate after it has taken its own lock. So one of them sees the other.

func gateFile(path string) string { return path + ".restore.lock" }

// closeGate keeps owners out, unless some are in.
func closeGate(o Options) (*oslock.Lock, error) {
	gate, err := oslock.TryLock(gateFile(o.Path))
	if errors.Is(err, oslock.ErrHeld) {
		return nil, &ReplacedError{Path: o.Path}
	}
	if err != nil {
		return nil, err
	}
	living, err := livingOwners(o)
	if err == nil && len(living) > 0 {
		err = &OpenError{Path: o.Path, Owners: living}
	}
	if err != nil {
		return nil, errors.Join(err, removeLock(gate))
	}
	return gate, nil
}

// livingOwners names those whose lock is held. Of stores that lie side by side they
// are those of all: which is whose is known to none that cannot be read.
func livingOwners(o Options) ([]string, error) {
	locks, err := ownerLocks(o.Path)
	if err != nil {
		return nil, err
	}
	labels := ownerLabels(o)
	var living []string
	for _, path := range locks {
		held, err := oslock.Held(path)
		if err != nil {
			return nil, fmt.Errorf("look for owners: %w", err)
		}
		if !held {
			continue
		}
		instance := strings.TrimSuffix(filepath.Base(path), ".lock")
		label := labels[instance]
		if label == "" {
			label = "the process that holds " + path
		}
		living = append(living, label)
	}
	slices.Sort(living)
	return slices.Compact(living), nil
}

// ownerLocks lists the lock files beside a store.
func ownerLocks(path string) ([]string, error) {
	dir := filepath.Join(filepath.Dir(path), "owners")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for owners: %w", err)
	}
	var list []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".lock") {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, nil
}

// ownerLabels reads how owners call themselves, as far as the file can be read.
func ownerLabels(o Options) map[string]string {
	labels := map[string]string{}
	c, err := openConn(access{path: o.Path, mode: "ro", busy: o.busy})
	if err != nil {
		return labels
	}
	defer c.close()
	var instance, label string
	_ = c.each("SELECT instance, label FROM owners", nil, func() error { // without them the locks are named
		labels[instance] = label
		return nil
	}, &instance, &label)
	return labels
}

// place is the file that a store has opened.
type place struct {
	path string
	info fs.FileInfo
}

func placeOf(path string) (place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return place{}, fmt.Errorf("find store: %w", err)
	}
	return place{path, info}, nil
}

// check refuses a store that is being replaced, or was since.
func (p place) check() error {
	held, err := oslock.Held(gateFile(p.path))
	if err != nil {
		return fmt.Errorf("look for a restoration: %w", err)
	}
	now, err := placeOf(p.path)
	if err != nil {
		return err
	}
	if held || !os.SameFile(p.info, now.info) {
		return &ReplacedError{Path: p.path}
	}
	return nil
}
