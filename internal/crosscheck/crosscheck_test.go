package crosscheck_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"piworkflows/internal/crosscheck"
	"piworkflows/internal/repo"
)

// TestModuleCompilesElsewhere covers the systems that make build builds for; the
// one that runs this test has compiled everything already.
func TestModuleCompilesElsewhere(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	others := slices.DeleteFunc([]string{"linux", "darwin", "windows"}, func(goos string) bool { return goos == runtime.GOOS })
	problems, err := crosscheck.Check(t.Context(), root, others...)
	if err := errors.Join(append(problems, err)...); err != nil {
		t.Error(err)
	}
}

func TestCheckFindsWhatIsMissingOnOneSystem(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"go.mod":         "module m\n\ngo 1.26\n",
		"m_unix.go":      "//go:build unix\n\npackage m\n\nfunc onlyUnix() {}\n",
		"m.go":           "package m\n\nimport \"errors\"\n\nfunc F() { onlyUnix(); _ = errors.New(\"text\") }\n",
		"m_test.go":      "package m\n\nfunc inTest() { F() }\n",
		"x_test.go":      "package m_test\n\nimport \"m\"\n\nfunc g() { m.F() }\n",
		"n/n_windows.go": "package n\n\nvar N int = \"text\"\n",
		"n/n.go":         "package n\n",
		"n/n_test.go":    "package n\n\nvar inTest = missing\n",
	})
	problems, err := crosscheck.Check(t.Context(), dir, "linux", "windows")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(errors.Join(problems...))
	for _, want := range []string{
		"linux: " + dir + "/n/n_test.go:3:14: undefined: missing",
		"windows: " + dir + "/n/n_test.go:3:14: undefined: missing",
		"windows: " + dir + "/n/n_windows.go:3:13: cannot use",
		"windows: " + dir + "/m.go:5:12: undefined: onlyUnix",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "linux: "+dir+"/m.go") {
		t.Errorf("found what is not wrong:\n%s", got)
	}
}

func TestCheckSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m.go": "package m\n\nimport _ \"m/missing\"\n"})
	if _, err := crosscheck.Check(t.Context(), dir, "linux"); err == nil || !strings.Contains(err.Error(), "m/missing") {
		t.Errorf("got %v", err)
	}
	dir = write(t, map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m.go": "package m\n\nfunc {\n"})
	if problems, err := crosscheck.Check(t.Context(), dir, "linux"); err == nil && len(problems) == 0 {
		t.Error("a file that is no Go passed")
	}
}

// write makes a folder with files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
