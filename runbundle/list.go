package runbundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// List returns the manifests of all runs of a folder, the newest first, and
// reads no other file. Broken bundles are left out and told in broken; folders
// without a manifest and links are no bundles. A missing folder has no runs.
func List(root string) (runs []Manifest, broken []error, err error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("list runs: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		m, err := ReadManifest(filepath.Join(root, entry.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			broken = append(broken, err)
		default:
			runs = append(runs, m)
		}
	}
	slices.SortFunc(runs, func(a, b Manifest) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt.Time), cmp.Compare(a.RunID, b.RunID))
	})
	return runs, broken, nil
}

// ReadManifest reads manifest.json alone, as it is on disk. Its errors are
// those of Read.
func ReadManifest(dir string) (Manifest, error) {
	r, err := openReader(dir)
	if err != nil {
		return Manifest{}, err
	}
	defer r.root.Close()
	return r.manifest()
}
