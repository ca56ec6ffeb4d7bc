package git

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveFolder removes a folder with all that is in it, also folders without
// write permission, as builds and package caches leave them. A missing folder
// is no error.
func RemoveFolder(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	makeWritable(path)
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove the folder of a worktree: %w", err)
	}
	return nil
}

// makeWritable does what it can; what it cannot, the removal will report.
func makeWritable(path string) {
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // a folder needs its execute bit
		}
		return nil
	})
}
