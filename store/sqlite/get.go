package sqlite

import (
	"context"

	"piworkflows/controller"
)

// Get returns one resource; see controller.Store.
func (s *Store) Get(ctx context.Context, ref controller.Ref) (controller.Raw, error) {
	if err := controller.ValidateRef(ref); err != nil {
		return controller.Raw{}, err
	}
	r, err := read(ctx, s, "read resource", func(t *tx) (record, error) { return t.existing(ref) })
	if err != nil {
		return controller.Raw{}, err
	}
	return r.decode()
}
