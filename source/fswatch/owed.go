package fswatch

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"piworkflows/controller"
)

// batch bounds the keys of one delivery: a larger one would keep the store busy for
// so long that others wait. It is below controller.MaxDeliveryKeys.
const batch = 1000

// owed are the keys that have to be delivered. They stay until they are durable.
type owed struct {
	mapping func(path string) []string
	keys    map[string]struct{}
	// first and paths are for the note: what changed since the last delivery.
	first string
	paths int
}

// add maps a path that changed and reports whether there are enough keys for one
// delivery.
func (o *owed) add(path string) (full bool, err error) {
	keys, err := o.keysOf(path)
	if err != nil {
		return false, err
	}
	if len(keys) == 0 {
		return false, nil
	}
	if o.paths == 0 {
		o.first = path
	}
	o.paths++
	for _, key := range keys {
		o.keys[key] = struct{}{}
	}
	return len(o.keys) >= batch, nil
}

// keysOf asks the mapping; a panic is a *controller.PanicError.
func (o *owed) keysOf(path string) (keys []string, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &controller.PanicError{In: fmt.Sprintf("mapping of the path %.200q", path), Value: value, Stack: debug.Stack()}
		}
	}()
	return o.mapping(path), nil
}

// deliver delivers all of them.
func (o *owed) deliver(ctx context.Context, deliver controller.Deliver) error {
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(o.keys)), batch) {
		if _, err := deliver(ctx, controller.Delivery{Keys: keys, Note: o.note()}); err != nil {
			return fmt.Errorf("deliver %d keys: %w", len(keys), err)
		}
		for _, key := range keys {
			delete(o.keys, key)
		}
	}
	o.first, o.paths = "", 0
	return nil
}

// note says for people what changed.
func (o *owed) note() string {
	if o.paths < 2 { //nolint:mnd // one, or none since a delivery that failed
		return o.first
	}
	return fmt.Sprintf("%s and %d more", o.first, o.paths-1)
}
