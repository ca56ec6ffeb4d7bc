package sqlite

import "time"

// ImpatientOptions shortens the busy timeout.
func ImpatientOptions(o Options, busy time.Duration) Options {
	o.busy = busy
	return o
}

// Transactions counts the commits of a store that changed something.
func (s *Store) Transactions() int64 { return s.writer.transactions.Load() }

// OwnerFile is the lock of a store.
func (s *Store) OwnerFile() string { return s.ownerFile(s.instance) }
