//go:build unix

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// newInput returns an input that leaves no goroutine behind if it can.
func newInput(r io.Reader) input {
	if f, isFile := r.(*os.File); isFile {
		return &selected{file: f, otherwise: &patient{from: r}}
	}
	return &patient{from: r}
}

// selected is an input over a file, a pipe or a terminal. It waits with select
// until there is something to read: poll would do on Linux, but not for the
// terminals of macOS.
type selected struct {
	file *os.File
	// otherwise reads a file whose descriptor select does not take.
	otherwise *patient
}

func (s *selected) read(ctx context.Context) ([]byte, error) {
	switch ready, err := s.wait(ctx); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case !ready:
		return s.otherwise.read(ctx)
	}
	buffer := make([]byte, chunk)
	n, err := s.file.Read(buffer)
	return buffer[:n], err //nolint:wrapcheck // io.EOF has a meaning
}

// wait returns once the file can be read or ctx has ended. Not ready says that
// it cannot wait for this file.
func (s *selected) wait(ctx context.Context) (ready bool, err error) {
	wake, ended, err := os.Pipe()
	if err != nil {
		return false, fmt.Errorf("wait for an answer: %w", err)
	}
	defer wake.Close()
	defer ended.Close()
	defer context.AfterFunc(ctx, func() { ended.Close() })()
	failed := control(s.file, func(fd int) {
		failed := control(wake, func(wakeFD int) { ready, err = selectRead(fd, wakeFD) })
		err = errors.Join(err, failed)
	})
	return ready, errors.Join(err, failed)
}

// control lends the descriptor of a file, which is not closed meanwhile.
func control(f *os.File, use func(fd int)) error {
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { use(int(fd)) })
	}
	if err != nil {
		return fmt.Errorf("wait for an answer: %w", err)
	}
	return nil
}

// selectRead waits until one of two descriptors can be read.
func selectRead(a, b int) (ready bool, err error) {
	if max(a, b) >= unix.FD_SETSIZE {
		return false, nil
	}
	for {
		var set unix.FdSet
		set.Set(a)
		set.Set(b)
		_, err := unix.Select(max(a, b)+1, &set, nil, nil, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("wait for an answer: %w", err)
		}
		return true, nil
	}
}
