package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"piworkflows/controller"
	"piworkflows/host"
)

// openStore is a store that its command closes.
type openStore interface {
	host.Store
	Close() error
}

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

// withExisting is withStore for commands that only look: a project without a
// store gets none, and work is called with a nil store.
func (a *App) withExisting(ctx context.Context, work func(host.Paths, host.Store) error) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	if _, err := os.Stat(paths.Store); errors.Is(err, fs.ErrNotExist) {
		return work(paths, nil)
	}
	return a.open(ctx, paths, work)
}

// withResource is withExisting for a resource that has to be there.
func (a *App) withResource(ctx context.Context, ref controller.Ref, work func(host.Store) error) error {
	if err := controller.ValidateRef(ref); err != nil {
		return err
	}
	return a.withExisting(ctx, func(_ host.Paths, s host.Store) error {
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

func (a *App) open(ctx context.Context, paths host.Paths, work func(host.Paths, host.Store) error) (err error) {
	var store openStore
	store, err = host.OpenStore(ctx, paths, a.o.Clock, a.Logger())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return work(paths, store)
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
