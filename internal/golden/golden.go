// Package golden compares what tests produce with files in their testdata, and
// writes those anew when the flag -update is given.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what tests compare with anew")

// Update reports whether what tests compare with is to be written anew.
func Update() bool { return *update }

// Check compares got with the named file below testdata.
func Check(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Git may have given the file the line ends of the system.
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s differs (-want +got), run with -update if that is meant:\n%s", name, diff)
	}
}
