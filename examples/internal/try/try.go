// Package try runs an example as its user would, in a folder of its own.
package try

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"piworkflows/cli"
)

// Place is a project with its own store and runs.
type Place struct {
	t       *testing.T
	options cli.Options
	dir     string
}

// New returns a place for the program of these options.
func New(t *testing.T, o cli.Options) *Place {
	t.Helper()
	return &Place{t: t, options: o, dir: t.TempDir()}
}

// Run runs one command, which must succeed, and returns what it wrote to stdout.
func (p *Place) Run(args ...string) string {
	p.t.Helper()
	out, errs, code := p.Try("", args...)
	if code != 0 {
		p.t.Fatalf("%v ended with code %d:\n%s", args, code, errs)
	}
	return out
}

// Try runs one command with that stdin and returns what became of it.
func (p *Place) Try(stdin string, args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, errs bytes.Buffer
	o := p.options
	o.Stdin, o.Stdout, o.Stderr = bytes.NewBufferString(stdin), &out, &errs
	places := []string{
		"--project", p.dir, "--store", filepath.Join(p.dir, "store.sqlite"), "--runs", filepath.Join(p.dir, "runs"),
	}
	code = cli.New(o).Execute(context.WithoutCancel(p.t.Context()), append(args, places...))
	return out.String(), errs.String(), code
}
