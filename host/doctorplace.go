package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"piworkflows/internal/diskspace"
	"piworkflows/internal/wording"
)

// Bounds of what is enough.
const (
	// lowSpace and noSpace are what a disk should have left.
	lowSpace = 1 << 30
	noSpace  = 100 << 20
	// lowWatches is what Linux gave by default for long: too few for one large tree.
	lowWatches = 16 << 10
)

// runsRoot looks at the folder of run bundles.
func (d *doctor) runsRoot() {
	entries, err := os.ReadDir(d.Runs)
	if errors.Is(err, fs.ErrNotExist) {
		d.addf(FindingRunsMissing, SeverityNote, "", "there is no folder of runs at %s yet: the first run makes it", d.Runs)
		return
	}
	if err != nil {
		d.addf(FindingRunsUnusable, SeverityError, "mend the permissions, or name another folder with --runs", "%v", err)
		return
	}
	if err := writable(d.Runs); err != nil {
		d.addf(FindingRunsUnusable, SeverityError, "mend the permissions, or name another folder with --runs", "%v", err)
		return
	}
	bundles, cutOff := 0, 0
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".")
		switch {
		case hidden && strings.Contains(e.Name(), ".incomplete-"):
			cutOff++
		case !hidden && e.IsDir():
			bundles++
		}
	}
	d.addf(FindingRuns, SeverityOK, "", "%s holds %s", d.Runs, wording.Count(bundles, "run", "runs"))
	if cutOff > 0 {
		d.addf(FindingLeftover, SeverityWarning, "remove the folders .*.incomplete-* in "+d.Runs,
			"%s in %s of runs that never began", wording.Count(cutOff, "folder was left", "folders were left"), d.Runs)
	}
}

// writable makes a file in a folder, and removes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err //nolint:wrapcheck // an fs.PathError says enough
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// disks measures the disks of store and runs, which may be the same.
func (d *doctor) disks() {
	seen := map[int64]bool{}
	for _, path := range []string{d.Store, d.Runs} {
		dir := existing(path)
		free, err := d.Machine.Free(dir)
		if errors.Is(err, diskspace.ErrUnknown) || err == nil && seen[free>>20] {
			continue
		}
		seen[free>>20] = true
		switch {
		case err != nil:
			d.addf(FindingSpaceLow, SeverityWarning, "see why the disk does not answer", "%v", err)
		case free < noSpace:
			d.addf(FindingSpaceLow, SeverityError, "free some, or prune", "the disk of %s has %s left", dir, size(free))
		case free < lowSpace:
			d.addf(FindingSpaceLow, SeverityWarning, "free some, or prune", "the disk of %s has %s left", dir, size(free))
		default:
			d.addf(FindingSpace, SeverityOK, "", "the disk of %s has %s left", dir, size(free))
		}
	}
}

// existing is the nearest folder above a path that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// watchLimits is where Linux says how much one user may watch.
const watchLimits = "/proc/sys/fs/inotify/max_user_watches"

func watchLimit() (int, bool) {
	text, err := os.ReadFile(watchLimits)
	if err != nil {
		return 0, false
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return limit, err == nil
}

// watches tells how many folders may be watched, where there is such a bound.
func (d *doctor) watches() {
	limit, bounded := d.Machine.Watches()
	switch {
	case !bounded:
	case limit < lowWatches:
		d.addf(FindingWatchLimitLow, SeverityNote, "sysctl fs.inotify.max_user_watches=524288",
			"one user may watch %d folders: sources that watch larger trees look at them in intervals instead", limit)
	default:
		d.addf(FindingWatchLimit, SeverityOK, "", "one user may watch %d folders", limit)
	}
}

func count[N int | int64](n N, unit string) string {
	return strconv.FormatInt(int64(n), 10) + " " + unit
}
