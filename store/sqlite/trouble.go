package sqlite

import (
	"errors"
	"sync/atomic"
)

// trouble remembers why the disk took the last write not.
type trouble struct{ err atomic.Pointer[error] }

// judge looks at the results of a group of writes, one of which was committed or
// not.
func (t *trouble) judge(group []*task, committed bool, isDisk func(error) bool) {
	if committed {
		t.err.Store(nil)
	}
	for _, task := range group {
		if err := task.err; err != nil && isDisk(err) {
			t.err.Store(&err)
			return
		}
	}
}

// WriteError returns why the disk refused the last write, as a *DiskError, and nil
// once a write was taken since.
func (s *Store) WriteError() error {
	if s.writer == nil {
		return nil
	}
	if err := s.writer.trouble.err.Load(); err != nil {
		return s.o.explain("write", *err)
	}
	return nil
}

func (o Options) isDiskError(err error) bool {
	_, disk := errors.AsType[*DiskError](o.explain("write", err))
	return disk
}
