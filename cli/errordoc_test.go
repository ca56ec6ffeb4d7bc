package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piworkflows/internal/repo"
)

// errorEntry finds an entry of docs/errors.md: code, meaning, next step, exit code.
var errorEntry = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (.+) \\| (.+) \\| (\\d+) \\|$")

// Every code that an error of the program can have stands in the document, with
// the exit code that it leads to, and no other.
func TestTheErrorsDocumentHasEveryCode(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join(root, "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, entry := range errorEntry.FindAllStringSubmatch(string(document), -1) {
		if documented[entry[1]] != "" {
			t.Errorf("docs/errors.md has two entries for %s", entry[1])
		}
		documented[entry[1]] = entry[4]
	}
	want := map[string]string{}
	for code := range errorCodes(t, root) {
		want[code] = strconv.Itoa(exitCode(codedError(code)))
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("docs/errors.md differs from the codes of the program (-code +document):\n%s", diff)
	}
}

// Every code that has an exit code of its own is one that an error has.
func TestExitCodesAreThoseOfErrors(t *testing.T) {
	t.Parallel()
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	known := errorCodes(t, root)
	for code := range codes {
		if !known[code] {
			t.Errorf("no error has the code %s", code)
		}
	}
}

// codedError is an error with a code.
type codedError string

func (e codedError) Error() string     { return string(e) }
func (e codedError) ErrorCode() string { return string(e) }

// errorCodes returns the codes that the source of the program gives to errors: the
// texts in functions named ErrorCode or codeOf, and the constants named Code….
func errorCodes(t *testing.T, root string) map[string]bool {
	t.Helper()
	files, err := repo.Files(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || outsideProgram(name) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(name)), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(found, codesOf(file))
	}
	return found
}

// outsideProgram reports whether a file belongs to no program of ours: tests,
// their kits, and what authors write.
func outsideProgram(name string) bool {
	return slices.ContainsFunc([]string{"test/", "store/storetest/", "examples/", "testkit/", "internal/crosscheck/"}, func(dir string) bool {
		return strings.HasPrefix(name, dir)
	})
}

// codesOf returns the codes in one file.
func codesOf(file *ast.File) map[string]bool {
	found := map[string]bool{}
	collect := func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && codePattern.MatchString(text) {
				found[text] = true
			}
		}
		return true
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Body != nil && (d.Name.Name == "ErrorCode" || d.Name.Name == "codeOf") {
				ast.Inspect(d.Body, collect)
			}
		case *ast.GenDecl:
			if d.Tok == token.CONST {
				collectConstants(d, collect)
			}
		}
	}
	return found
}

var codePattern = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

func collectConstants(d *ast.GenDecl, collect func(ast.Node) bool) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || v.Type != nil || !regexp.MustCompile("^Code[A-Z]").MatchString(v.Names[0].Name) {
			continue
		}
		for _, value := range v.Values {
			ast.Inspect(value, collect)
		}
	}
}
