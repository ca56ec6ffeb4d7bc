package repo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"piworkflows/internal/repo"
)

// maxFileBytes keeps the clone small; nothing that people write is larger.
const maxFileBytes = 500_000

// machinePath finds a path that only exists on somebody's machine: home
// directories and the roots that build machines use. It must begin a path, so
// that x/work/y and a URL pass.
var machinePath = regexp.MustCompile("(?m)(?:^|[\\s\"'`=:,;(\\[{<>|])/(?:home|root|work|Users)/")

func TestTrackedFilesAreSmallAndNameNoMachine(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := repo.Files(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > maxFileBytes {
			t.Errorf("%s has %d bytes, more than %d", name, len(data), maxFileBytes)
		}
		if found := machinePath.Find(data); found != nil {
			t.Errorf("%s names a path of one machine: %q", name, found)
		}
	}
}

func TestMachinePath(t *testing.T) {
	t.Parallel()
	const home, build = "/ho" + "me/", "/wo" + "rk/"
	tests := []struct {
		text string
		want bool
	}{
		{home + "ada/src", true},
		{"line\n" + build + "main", true},
		{`"` + build + `main"`, true},
		{"DIR=" + home + "ada", true},
		{"dir" + build + "main", false},
		{"https://host.example" + home + "page", false},
		{"/tmp" + build + "x", false},
		{"/homeland/x", false},
	}
	for _, test := range tests {
		if got := machinePath.MatchString(test.text); got != test.want {
			t.Errorf("%q: %v", test.text, got)
		}
	}
}
