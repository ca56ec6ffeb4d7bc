package diskspace_test

import (
	"errors"
	"path/filepath"
	"testing"

	"piworkflows/internal/diskspace"
)

func TestFree(t *testing.T) {
	t.Parallel()
	n, err := diskspace.Free(t.TempDir())
	if errors.Is(err, diskspace.ErrUnknown) {
		t.Skip(err)
	}
	if err != nil || n <= 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := diskspace.Free(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing folder has a disk")
	}
}
