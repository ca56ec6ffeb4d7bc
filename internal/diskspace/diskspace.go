// Package diskspace tells how much room a disk has.
package diskspace

import (
	"errors"
	"fmt"
)

// ErrUnknown says that this system is not asked.
var ErrUnknown = errors.New("free space is not known on this system")

// Free returns how many bytes this user may still write to the disk of a folder or
// file, which must exist.
func Free(path string) (int64, error) {
	n, err := free(path)
	if err != nil && !errors.Is(err, ErrUnknown) {
		err = fmt.Errorf("measure the disk of %s: %w", path, err)
	}
	return n, err
}
