// Package crosscheck finds what does not compile on systems that this one is
// not: it checks the types of a whole module, tests included, as go list sees it
// there. That takes seconds where a cross-compiler takes minutes for SQLite
// alone. Nothing but tests uses it.
package crosscheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Check returns what is wrong with the packages of the module in dir on each of
// the systems, with its place; the error says that they could not be read.
func Check(ctx context.Context, dir string, systems ...string) ([]error, error) {
	c := checker{fset: token.NewFileSet(), files: map[string]file{}}
	for _, goos := range systems {
		listed, err := list(ctx, dir, goos)
		if err != nil {
			return nil, err
		}
		c.goos = goos
		c.listed = listed
		c.done = map[string]*types.Package{"unsafe": types.Unsafe}
		for _, name := range slices.Sorted(maps.Keys(listed)) {
			// The main package of a test is made up by go test.
			if listed[name].ours() && !strings.HasSuffix(name, ".test") {
				c.load(name)
			}
		}
	}
	return c.problems, nil
}

// list returns the packages of a module and all that they import, by the name
// that go list gives them.
func list(ctx context.Context, dir, goos string) (map[string]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w\n%s", goos, err, stderr.String())
	}
	all := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		err := dec.Decode(&l) //nolint:musttag // go list names its fields as Go does
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the answer of go list: %w", err)
		}
		all[l.ImportPath] = l
	}
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

func (l listed) ours() bool { return l.Module != nil && l.Module.Main }

// checker goes through our packages on one system after the other, and through
// what they import as it comes.
type checker struct {
	fset *token.FileSet
	// files keeps what was parsed: most files are the same on every system, and
	// parsing them is most of the work.
	files    map[string]file
	goos     string
	listed   map[string]listed
	done     map[string]*types.Package
	problems []error
}

type file struct {
	syntax *ast.File
	err    error
}

// load checks one package, once. Only what is wrong with ours is a problem, and
// only our function bodies are read: others are taken at their word.
func (c *checker) load(name string) *types.Package {
	if p, ok := c.done[name]; ok {
		return p
	}
	l, ok := c.listed[name]
	if !ok {
		return nil
	}
	report := func(err error) {
		if l.ours() {
			c.problems = append(c.problems, fmt.Errorf("%s: %w", c.goos, err))
		}
	}
	var files []*ast.File
	for _, name := range l.GoFiles {
		f := c.parse(filepath.Join(l.Dir, name), l.ours())
		if f.err != nil {
			report(f.err)
			continue
		}
		files = append(files, f.syntax)
	}
	config := types.Config{
		Importer:         importer{c, l.ImportMap},
		Sizes:            types.SizesFor("gc", goarch),
		IgnoreFuncBodies: !l.ours(),
		Error:            report,
	}
	path, _, _ := strings.Cut(name, " ")
	// Its error is the first of those that are reported.
	c.done[name], _ = config.Check(path, c.fset, files, nil)
	return c.done[name]
}

// parse reads a file once, and keeps function bodies only where they are read.
func (c *checker) parse(path string, ours bool) file {
	f, ok := c.files[path]
	if ok {
		return f
	}
	f.syntax, f.err = parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
	if f.err == nil && !ours {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				fn.Body = nil
			}
		}
	}
	c.files[path] = f
	return f
}

// importer finds what the files of one package mean by an import.
type importer struct {
	c     *checker
	names map[string]string
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if name, ok := i.names[path]; ok {
		path = name
	}
	if p := i.c.load(path); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s cannot be read", path)
}
