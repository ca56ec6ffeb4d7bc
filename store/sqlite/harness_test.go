package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"piworkflows/clock/clocktest"
	"piworkflows/internal/crashpoint"
	"piworkflows/store/sqlite"
	"piworkflows/store/storetest"
)

// harness opens stores over a file in a folder, with a clock for each folder. A
// file beside the store tells other processes how far the clock has been moved.
func harness() storetest.Harness {
	h := &folders{clocks: map[string]*clocktest.Manual{}}
	return storetest.Harness{Open: h.open, Advance: h.advance}
}

type folders struct {
	mu     sync.Mutex
	clocks map[string]*clocktest.Manual
}

func (f *folders) open(ctx context.Context, folder, scope string) (storetest.Store, error) {
	c, err := f.clock(folder)
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, sqlite.Options{
		Path: filepath.Join(folder, "controller.sqlite"), Scope: scope, Clock: c, Fault: diskStep,
	})
}

// diskStep lets a process die before whatever it does with the disk.
func diskStep(op, _ string) error {
	crashpoint.Reached("disk " + op)
	return nil
}

// clock returns the clock of a folder, which stands where another process left it.
func (f *folders) clock(folder string) (*clocktest.Manual, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.clocks[folder]; c != nil {
		return c, nil
	}
	text, err := os.ReadFile(filepath.Join(folder, "clock"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c := clocktest.New()
	if err == nil {
		passed, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return nil, err
		}
		c.Advance(time.Duration(passed))
	}
	f.clocks[folder] = c
	return c, nil
}

func (f *folders) advance(folder string, d time.Duration) error {
	c, err := f.clock(folder)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c.Advance(d)
	passed := strconv.FormatInt(int64(c.Now().Sub(clocktest.Epoch)), 10)
	return os.WriteFile(filepath.Join(folder, "clock"), []byte(passed), 0o600)
}
