// Package repo gives tests the checkout that they run in: its root, its files
// and the program that it makes. Nothing but tests uses it.
package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// errNoRoot says that the working directory is in no Go module.
var errNoRoot = errors.New("no go.mod above the working directory; run the tests with go test in the checkout")

// Root returns the absolute path of the checkout: the nearest directory with a
// go.mod, from the working directory up.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errNoRoot
		}
		dir = up
	}
}

// Read returns the text of one file of the checkout. Path is relative to the root,
// with slashes.
func Read(path string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	return string(text), err
}

// Files returns the tracked files, relative to root and with slashes. It needs
// git and a checkout made by git.
func Files(ctx context.Context, root string) ([]string, error) {
	out, err := output(ctx, root, "git", "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), nil
}

// Build makes the program as `make demo` does, static, in dir, and returns its
// path. The build cache makes a second call cheap. Tags are build tags.
func Build(ctx context.Context, root, dir string, tags ...string) (string, error) {
	path := filepath.Join(dir, "pi-workflows")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	_, err := output(ctx, root, "go", "build", "-buildvcs=false", "-tags="+strings.Join(tags, ","), "-o", path, "./cmd/pi-workflows")
	return path, err
}

// output runs a command in root and returns what it wrote to stdout; its error
// carries what the command wrote to stderr.
func output(ctx context.Context, root string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, stderr.String())
	}
	return string(out), nil
}
