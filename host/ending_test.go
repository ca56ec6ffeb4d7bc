package host

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"piworkflows/runbundle"
)

// A machine that has no files left to open, or a disk that does not answer, says
// nothing about a bundle.
func TestBeyondRepair(t *testing.T) {
	t.Parallel()
	corrupt := func(err error) error {
		return fmt.Errorf("interrupt: %w", &runbundle.CorruptError{Path: "f", Err: err})
	}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("anything else"), false},
		{corrupt(errors.New("unexpected end of JSON input")), true},
		{&runbundle.UnknownSchemaError{Path: "f"}, true},
		{corrupt(&fs.PathError{Op: "open", Path: "f", Err: syscall.EMFILE}), false},
		{corrupt(&fs.PathError{Op: "read", Path: "f", Err: syscall.EIO}), false},
	} {
		if got := beyondRepair(test.err); got != test.want {
			t.Errorf("beyondRepair(%v) = %v", test.err, got)
		}
	}
}
