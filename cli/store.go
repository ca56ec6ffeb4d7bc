package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"piworkflows/controller"
	"piworkflows/host"
)

// Paths returns the places that the global flags name.
func (a *App) Paths() (host.Paths, error) { return host.Locate(a.flags.places) }

// withStore opens the store of the project, makes it if there is none, and
// closes it after the work.
func (a *App) withStore(ctx context.Context, work func(host.Paths, host.Store) error) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	return a.open(ctx, paths, work)
}

// withExisting is withStore for commands that make no store: in a project without
// one, work is called with a nil store.
func (a *App) withExisting(ctx context.Context, work func(host.Paths, host.Store) error) error {
	return a.withFound(ctx, a.open, work)
}

// withReader is withExisting for commands that only look: nothing of the store is
// written, whatever they do.
func (a *App) withReader(ctx context.Context, work func(host.Paths, host.Store) error) error {
	return a.withFound(ctx, a.openReader, work)
}

// opener opens the store of a project, and closes it after the work.
type opener func(ctx context.Context, paths host.Paths, work func(host.Paths, host.Store) error) error

func (a *App) withFound(ctx context.Context, open opener, work func(host.Paths, host.Store) error) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	if _, err := os.Stat(paths.Store); errors.Is(err, fs.ErrNotExist) {
		return work(paths, nil)
	}
	return open(ctx, paths, work)
}

// withResource is withExisting for a resource that has to be there,
// withReadResource the same for commands that only look.
func (a *App) withResource(ctx context.Context, ref controller.Ref, work func(host.Store) error) error {
	return a.withKey(ctx, a.open, ref, work)
}

func (a *App) withReadResource(ctx context.Context, ref controller.Ref, work func(host.Store) error) error {
	return a.withKey(ctx, a.openReader, ref, work)
}

func (a *App) withKey(ctx context.Context, open opener, ref controller.Ref, work func(host.Store) error) error {
	if err := controller.ValidateRef(ref); err != nil {
		return err
	}
	return a.withFound(ctx, open, func(_ host.Paths, s host.Store) error {
		if s == nil {
			return a.missing(ref, &controller.NotFoundError{Ref: ref})
		}
		return a.missing(ref, work(s))
	})
}

// missing tells an unknown controller from a resource that is not there.
func (a *App) missing(ref controller.Ref, err error) error {
	gone, ok := errors.AsType[*controller.NotFoundError](err)
	if !ok || gone.Ref != ref {
		return err
	}
	if unknown := a.known(ref.Controller); unknown != nil {
		return unknown
	}
	return err
}

func (a *App) open(ctx context.Context, paths host.Paths, work func(host.Paths, host.Store) error) error {
	store, err := host.OpenStore(ctx, paths, a.o.Clock, a.Logger())
	if err != nil {
		return err
	}
	return closing(store, func() error { return work(paths, store) })
}

func (a *App) openReader(ctx context.Context, paths host.Paths, work func(host.Paths, host.Store) error) error {
	store, err := host.OpenReader(ctx, paths, a.o.Clock, a.Logger())
	if err != nil {
		return err
	}
	return closing(store, func() error { return work(paths, store) })
}

// scratch lends a store that is thrown away, for what must leave no trace.
func (a *App) scratch(ctx context.Context, paths host.Paths, work func(host.Paths, host.Store) error) (err error) {
	dir, err := os.MkdirTemp("", product+"-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	paths.Store = dir + string(os.PathSeparator) + "scratch.sqlite"
	return a.open(ctx, paths, work)
}

// closing closes something after the work.
func closing(c io.Closer, work func() error) (err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	return work()
}
