package sqlite

import (
	"errors"
	"sync/atomic"
)

// trouble remembers why the disk took the last write not.
type trouble struct{ err atomic.Pointer[error] }

// judge looks at the results of a group of writes, one of which was committed or
// not.
func (t *trouble) judge(group []*task, committed bool, disk func(error) (*DiskError, bool)) {
	if committed {
		t.err.Store(nil)
	}
	for _, task := range group {
		if _, failed := disk(task.err); failed {
			t.err.Store(&task.err)
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

func (o Options) diskError(err error) (*DiskError, bool) {
	return errors.AsType[*DiskError](o.explain("write", err))
}
