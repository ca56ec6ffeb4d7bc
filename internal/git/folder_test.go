package git

import (
	"os"
	"path/filepath"
	"testing"
)

// The superuser removes what others cannot, so the test looks at the modes.
func TestMakeWritable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inner := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{inner, filepath.Dir(inner)} {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	makeWritable(root)
	for _, dir := range []string{inner, filepath.Dir(inner)} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if err := RemoveFolder(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}
