package crashpoint_test

import (
	"testing"

	"piworkflows/internal/crashpoint"
)

// The hook is one for the process, so this test is not parallel.
func TestOnlyAnInstalledHookHears(t *testing.T) { //nolint:paralleltest // see above
	crashpoint.Reached("nobody listens")
	var heard []string
	remove := crashpoint.Install(func(step string) { heard = append(heard, step) })
	crashpoint.Reached("one")
	crashpoint.Reached("two")
	remove()
	crashpoint.Reached("nobody listens any more")
	if len(heard) != 2 || heard[0] != "one" || heard[1] != "two" {
		t.Errorf("heard %q", heard)
	}
}
