// Package crosscheck finds what does not compile on systems that this one is
// not: it checks the types of a whole module, tests included, as go list sees it
// there. That takes seconds where a cross-compiler takes minutes for SQLite
// alone. Nothing but tests uses it.
package crosscheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Check returns what is wrong with the packages of the module in dir on the
// system goos, each with its place; the error says that they could not be read.
func Check(ctx context.Context, dir, goos string) ([]error, error) {
	list, err := list(ctx, dir, goos)
	if err != nil {
		return nil, err
	}
	done := packages{"unsafe": types.Unsafe}
	var problems []error
	for dec := json.NewDecoder(strings.NewReader(list)); ; {
		var l listed
		err := dec.Decode(&l) //nolint:musttag // go list names its fields as Go does
		if errors.Is(err, io.EOF) {
			return problems, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the answer of go list: %w", err)
		}
		// The main package of a test is made up by go test.
		if l.ImportPath != "unsafe" && !strings.HasSuffix(l.ImportPath, ".test") {
			problems = append(problems, done.add(l)...)
		}
	}
}

// list returns the packages of a module and their dependencies; a package comes
// after all that it imports.
func list(ctx context.Context, dir, goos string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list for %s: %w\n%s", goos, err, stderr.String())
	}
	return string(out), nil
}

// goarch decides the size of int; our platforms all have 64 bits.
const goarch = "amd64"

// listed is one package as go list describes it. With its tests a package is
// listed again, as "path [path.test]".
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct{ Main bool }
}

// packages are those checked so far, by the name that go list gives them.
type packages map[string]*types.Package

// add checks one package and returns its errors if it is ours. Only our function
// bodies are read: others are taken at their word.
func (done packages) add(l listed) []error {
	ours := l.Module != nil && l.Module.Main
	fset := token.NewFileSet()
	files, problems := parse(fset, l)
	config := types.Config{
		Importer:         importer{done, l.ImportMap},
		Sizes:            types.SizesFor("gc", goarch),
		IgnoreFuncBodies: !ours,
		Error:            func(err error) { problems = append(problems, err) },
	}
	path, _, _ := strings.Cut(l.ImportPath, " ")
	// Its error is the first of those that Error has seen.
	done[l.ImportPath], _ = config.Check(path, fset, files, nil)
	if !ours {
		return nil
	}
	return problems
}

func parse(fset *token.FileSet, l listed) (files []*ast.File, problems []error) {
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		files = append(files, f)
	}
	return files, problems
}

// importer finds what the files of one package mean by an import.
type importer struct {
	done  packages
	names map[string]string
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if name, ok := i.names[path]; ok {
		path = name
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not listed", path)
}
