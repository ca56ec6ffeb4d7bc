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

// fillLog writes one resource anew until its log would be four times as large as the
// limit on file size lets it.
func fillLog(s *sqlite.Store) error {
	limit := syscall.Rlimit{Cur: fileLimit, Max: fileLimit}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	const size = fileLimit / 10
	for i := range 40 {
		spec := json.RawMessage(`"` + strings.Repeat(string(rune('a'+i%26)), size) + `"`)
		if _, err := s.Put(context.Background(), controller.Put{Ref: ref("a"), Spec: spec}); err != nil {
			return fmt.Errorf("put %d: %w", i, err)
		}
	}
	fmt.Println("written", s.WriteError())
	return s.Close()
}

// A disk is not full while the log of the store has space to give back.
func TestFullLogGivesItsSpaceBack(t *testing.T) {
	t.Parallel()
	o := options(t)
	out, kill := helper(t, "log", o.Path)
	text, err := io.ReadAll(out)
	kill()
	if string(text) != "written <nil>\n" || err != nil {
		t.Fatalf("helper says %q, %v", text, err)
	}
	if got := events(t, open(t, o)); got != 40 {
		t.Errorf("%d events, want one for each write", got)
	}
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
