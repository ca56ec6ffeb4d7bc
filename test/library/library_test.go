// Package library proves that the README is right about using this module as a
// library: it builds the program that the README shows, in a module of its own
// outside of the tree.
package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"piworkflows/internal/repo"
	"piworkflows/test/markdown"
)

// replaceLine is the line of the README's go.mod that the reader adapts.
var replaceLine = regexp.MustCompile(`(?m)^replace piworkflows => \S+$`)

var errNoReplace = errors.New("the go.mod of the README needs one line `replace piworkflows => <your checkout>`")

func TestProgramOfTheReadme(t *testing.T) {
	t.Parallel()
	root := rootOf(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := writeModule(dir, root, string(readme)); err != nil {
		t.Fatalf("README.md: %v", err)
	}
	got, err := runModule(t.Context(), dir)
	if err != nil {
		t.Fatalf("the program of README.md: %v", err)
	}
	want, err := markdown.Marked(string(readme), "library", "output")
	if err != nil {
		t.Fatalf("README.md: %v", err)
	}
	if got != want {
		t.Errorf("README.md says that its program prints:\n%s\nbut it prints:\n%s", want, got)
	}
}

// document is a README around a program of one line.
const document = "<!-- library:go.mod -->\n```\nmodule example.com/mine\n\ngo 1.26\n\nrequire piworkflows v0.0.0\n\n" +
	"replace piworkflows => ../pi-workflows\n```\n<!-- /library -->\n<!-- library:main.go -->\n```go\npackage main\n\n" +
	"import (\n\t\"fmt\"\n\n\t\"piworkflows/clock\"\n)\n\nfunc main() { fmt.Println(clock.System() != nil) }\n```\n<!-- /library -->\n"

func TestModuleOutsideOfTheTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeModule(dir, rootOf(t), document); err != nil {
		t.Fatal(err)
	}
	if got, err := runModule(t.Context(), dir); err != nil || got != "true\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWriteModuleSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, document string
		want           error
	}{
		{"no markers", "# Title\n", markdown.ErrNoMark},
		{"no program", strings.ReplaceAll(document, "library:main.go", "other"), markdown.ErrNoMark},
		{"no replace", strings.ReplaceAll(document, "replace piworkflows", "// nothing"), errNoReplace},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := writeModule(t.TempDir(), rootOf(t), test.document); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// writeModule makes the module that a document shows, with its replace line
// pointing at root.
func writeModule(dir, root, document string) error {
	mod, err := markdown.Marked(document, "library", "go.mod")
	if err != nil {
		return err
	}
	program, err := markdown.Marked(document, "library", "main.go")
	if err != nil {
		return err
	}
	if len(replaceLine.FindAllString(mod, -1)) != 1 {
		return errNoReplace
	}
	mod = replaceLine.ReplaceAllLiteralString(mod, "replace piworkflows => "+strconv.Quote(root))
	// With the checksums of the checkout, go needs no network.
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"go.mod": mod, "main.go": program, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// runModule builds the program in dir, offline, runs it with a home of its own
// and returns what it prints.
func runModule(ctx context.Context, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	offline := []string{"CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off"}
	program := filepath.Join(dir, "program.exe")
	if _, err := output(ctx, dir, offline, "go", "build", "-o", program, "."); err != nil {
		return "", err
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return "", err
	}
	return output(ctx, home, []string{"HOME=" + home, "USERPROFILE=" + home}, program)
}

// output runs a command in dir and returns what it wrote to stdout.
func output(ctx context.Context, dir string, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, stderr.String())
	}
	return string(out), nil
}

func rootOf(t *testing.T) string {
	t.Helper()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
