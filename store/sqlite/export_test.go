package sqlite

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// ImpatientOptions shortens the busy timeout.
func ImpatientOptions(o Options, busy time.Duration) Options {
	o.busy = busy
	return o
}

// Transactions counts the commits of a store that changed something.
func (s *Store) Transactions() int64 { return s.writer.transactions.Load() }

// OwnerFile is the lock of a store.
func (s *Store) OwnerFile() string { return s.ownerFile(s.instance) }

// Hold lets the writer wait until release is called. It returns once the writer
// does.
func (s *Store) Hold() (release func()) {
	held, free := make(chan struct{}), make(chan struct{})
	tell := sync.OnceFunc(func() { close(held) })
	go func() {
		_ = s.writer.do(context.Background(), func(*conn) error {
			tell()
			<-free
			return nil
		})
	}()
	<-held
	return func() { close(free) }
}

// AwaitQueued returns once n writes wait behind the one that runs.
func (s *Store) AwaitQueued(n int) {
	for len(s.writer.tasks) != n {
		runtime.Gosched()
	}
}

// Alone is what the writer asks before it leaves room for others.
func (s *Store) Alone() bool { return s.alone() }
