// Package demo is the demo command: it makes a real Git repository, asks the
// git-merge controller for each of its branches, runs the host until nothing is
// left to do, and checks that every branch ended as it should.
//
// What it does is what a user would do by hand; a killed demo goes on where it
// was when it is run again on the same folder.
package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"piworkflows/builtin/gitmerge"
	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/host"
	"piworkflows/internal/durable"
	"piworkflows/store/sqlite"
	"piworkflows/view"
)

// Options say where a demo runs and what it may show.
type Options struct {
	// Program is the name under which the printed commands call it.
	Program string
	// Dir is the folder of the demo and the project; empty makes a temporary
	// folder that holds everything. It must be missing, empty, or a demo's.
	Dir string
	// Fresh removes what an earlier demo left in Dir first.
	Fresh bool
	// Places are the store and the runs that the caller chose; empty ones are
	// those of the project.
	Places host.Places
	// Catalog has the git-merge controller and its workflow.
	Catalog *host.Catalog
	// Out takes results, Err progress.
	Out, Err io.Writer
	// Live says that Err is a terminal, Progress how it looks; Palette colours
	// Out.
	Live     bool
	Progress view.Style
	Palette  view.Palette
	// JSON asks for one JSON object on Out instead of a story.
	JSON bool
	// Show runs one command of the command line, such as `controllers`, on Out.
	Show func(ctx context.Context, args ...string) error
	// Logger hears of what the host does.
	Logger *slog.Logger
}

// run is one demo at work.
type run struct {
	Options
	place place
	paths host.Paths
	// flags are what a user adds to a command to reach this demo.
	flags []string
	store *sqlite.Store
	heads map[string]string
}

// Run plays the demo and returns nil only if every branch ended as it should.
func Run(ctx context.Context, o Options) error {
	d := &run{Options: o}
	if err := d.settle(); err != nil {
		return err
	}
	m, err := d.place.open()
	if err != nil {
		return err
	}
	if m.Stage == clearing || d.Fresh && m.Stage != "" {
		if err := d.clear(ctx); err != nil {
			return err
		}
		m = marker{}
	}
	if m.Stage != finished {
		err := d.play(ctx, m)
		if ctx.Err() != nil {
			fmt.Fprintf(d.Err, "The demo goes on from here with\n  %s\n", d.again())
		}
		return err
	}
	fmt.Fprintf(d.Err, "The demo in %s is finished; begin anew with --fresh.\n", d.Dir)
	return d.replay(ctx, m)
}

// settle finds the places of this demo.
func (d *run) settle() (err error) {
	if d.Dir == "" {
		if err := d.temporary(); err != nil {
			return err
		}
	}
	if d.Dir, err = filepath.Abs(d.Dir); err != nil {
		return fmt.Errorf("find the folder of the demo: %w", err)
	}
	d.place = place{dir: d.Dir, fs: durable.OS()}
	if err := d.place.fs.MkdirAll(d.Dir); err != nil {
		return err
	}
	d.Places.Project = d.Dir
	d.paths, err = host.Locate(d.Places)
	d.flags = d.reach()
	return err
}

// reach returns the flags that lead a command to this demo.
func (d *run) reach() []string {
	flags := []string{"--project", d.Dir}
	if d.Places.Store != "" {
		flags = append(flags, "--store", d.paths.Store)
	}
	if d.Places.Runs != "" {
		flags = append(flags, "--runs", d.paths.Runs)
	}
	return flags
}

// temporary puts project, store and runs into one new folder.
func (d *run) temporary() error {
	base, err := os.MkdirTemp("", "pi-workflows-demo-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w: give one with --dir", err)
	}
	d.Dir = filepath.Join(base, "project")
	if d.Places.Store == "" {
		d.Places.Store = filepath.Join(base, "store", "controller.sqlite")
	}
	if d.Places.Runs == "" {
		d.Places.Runs = filepath.Join(base, "runs")
	}
	return nil
}

// play goes from wherever an earlier demo got to the end.
func (d *run) play(ctx context.Context, m marker) (err error) {
	if d.heads, err = d.prepare(ctx, m); err != nil {
		return err
	}
	return d.withStore(ctx, func() error {
		if err := d.apply(ctx); err != nil {
			return err
		}
		if err := d.work(ctx); err != nil {
			return err
		}
		return d.conclude(ctx)
	})
}

// replay shows the end of a finished demo again.
func (d *run) replay(ctx context.Context, m marker) error {
	d.heads = m.Heads
	return d.withStore(ctx, func() error { return d.conclude(ctx) })
}

// conclude judges the end of every branch and, if it is as it should be, makes
// the demo finished and shows what there is.
func (d *run) conclude(ctx context.Context) error {
	all, err := d.verdicts(ctx)
	if err != nil {
		return err
	}
	if err := judge(all); err != nil {
		return err
	}
	if err := d.place.advance(marker{Stage: finished, Heads: d.heads}); err != nil {
		return err
	}
	return d.report(ctx, all)
}

func (d *run) withStore(ctx context.Context, work func() error) (err error) {
	if d.store, err = host.OpenStore(ctx, d.paths, clock.System(), d.Logger); err != nil {
		return err
	}
	defer func() { err = firstOf(err, d.store.Close()) }()
	return work()
}

// prepare makes the repository, unless an earlier demo did.
func (d *run) prepare(ctx context.Context, m marker) (map[string]string, error) {
	if m.Stage == running {
		fmt.Fprintf(d.Err, "Going on with the demo in %s.\n", d.Dir)
		return m.Heads, nil
	}
	fmt.Fprintf(d.Err, "Making a Git repository with %d branches in %s.\n", len(branches), d.Dir)
	if err := d.place.advance(marker{Stage: building}); err != nil {
		return nil, err
	}
	heads, err := d.place.build(ctx)
	if err != nil {
		return nil, err
	}
	return heads, d.place.advance(marker{Stage: running, Heads: heads})
}

// apply asks for every branch. What was asked for before stays unchanged.
func (d *run) apply(ctx context.Context) error {
	def, err := d.Catalog.Controllers.Get(gitmerge.Name)
	if err != nil {
		return err
	}
	for _, b := range branches {
		spec, err := b.spec(d.Dir, d.heads[b.key])
		if err != nil {
			return err
		}
		if _, err := controller.PutSpec(ctx, d.store, def, controller.Put{Ref: b.ref(), Spec: spec, Actor: "demo"}); err != nil {
			return err
		}
	}
	return nil
}

// work runs the host until nothing is left to do, and shows how it goes.
func (d *run) work(ctx context.Context) error {
	p := newProgress(d.Err, d.Live, d.Progress)
	h, err := host.New(ctx, host.Options{Paths: d.paths, Catalog: d.Catalog, Logger: d.Logger, Observe: p.step}, d.store)
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.follow(following, d.store, "")
	}()
	_, err = h.RunOnce(ctx)
	stop()
	<-done
	return firstOf(err, h.Close())
}

// firstOf returns the error that matters: what went wrong before the cleanup.
func firstOf(err, cleanup error) error {
	if err != nil {
		return err
	}
	return cleanup
}
