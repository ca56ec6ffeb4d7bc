package crosscheck_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	for _, goos := range []string{"linux", "darwin", "windows"} {
		if goos == runtime.GOOS {
			continue
		}
		problems, err := crosscheck.Check(t.Context(), root, goos)
		if err := errors.Join(append(problems, err)...); err != nil {
			t.Errorf("%s:\n%v", goos, err)
		}
	}
}

func TestCheckFindsWhatIsMissingOnOneSystem(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"go.mod":         "module m\n\ngo 1.26\n",
		"m_unix.go":      "//go:build unix\n\npackage m\n\nfunc onlyUnix() {}\n",
		"m.go":           "package m\n\nimport \"os\"\n\nfunc F() { onlyUnix(); _ = os.Getpid() }\n",
		"m_test.go":      "package m\n\nfunc inTest() { F() }\n",
		"x_test.go":      "package m_test\n\nimport \"m\"\n\nfunc g() { m.F() }\n",
		"n/n_windows.go": "package n\n\nvar N int = \"text\"\n",
		"n/n.go":         "package n\n",
		"n/n_test.go":    "package n\n\nvar inTest = missing\n",
	})
	tests := []struct {
		goos string
		want []string
	}{
		{"linux", []string{"n_test.go:3:14: undefined: missing"}},
		{"windows", []string{
			"m.go:5:12: undefined: onlyUnix", "n_windows.go:3:13: cannot use", "n_test.go:3:14: undefined: missing",
		}},
	}
	for _, test := range tests {
		t.Run(test.goos, func(t *testing.T) {
			t.Parallel()
			problems, err := crosscheck.Check(t.Context(), dir, test.goos)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(problems)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s is missing in: %s", want, got)
				}
			}
			if strings.Contains(got, "onlyUnix") && test.goos == "linux" {
				t.Errorf("found what is not wrong: %s", got)
			}
		})
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
