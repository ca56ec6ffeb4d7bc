//go:build !windows

package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"piworkflows/clock"
	"piworkflows/controller"
	"piworkflows/store/sqlite"
)

const fileLimit = 1 << 20

// runIntoLimit lets the log grow over the limit on file size: the kernel says
// no, as it does on a full disk.
func runIntoLimit(s *sqlite.Store) error {
	ctx := context.Background()
	if _, err := s.Put(ctx, controller.Put{Ref: ref("a"), Spec: json.RawMessage(`{}`)}); err != nil {
		return err
	}
	limit := syscall.Rlimit{Cur: fileLimit, Max: fileLimit}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	spec := json.RawMessage(`"` + strings.Repeat("x", fileLimit-10) + `"`)
	_, err := s.Put(ctx, controller.Put{Ref: ref("b"), Spec: spec})
	var disk *sqlite.DiskError
	if !errors.As(err, &disk) || !disk.Full {
		return fmt.Errorf("put over the limit: %w", err)
	}
	if err := wakeUp(ctx, s, "a"); err != nil {
		return fmt.Errorf("a small write after a large one: %w", err)
	}
	if _, err := s.Get(ctx, ref("b")); !errors.Is(err, controller.ErrNotFound) {
		return fmt.Errorf("what did not fit is there: %w", err)
	}
	fmt.Println("full")
	return s.Close()
}

func TestFileSizeLimitIsAFullDisk(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Clock = clock.System()
	out, kill := helper(t, "limit", o.Path)
	text, err := io.ReadAll(out)
	kill()
	if string(text) != "full\n" || err != nil {
		t.Fatalf("helper says %q, %v", text, err)
	}
	s := open(t, o)
	if c := claim(t, s); c == nil || c.Ref.Key != "a" {
		t.Errorf("claimed %+v", c)
	}
}
