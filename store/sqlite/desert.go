package sqlite

import "errors"

// Desert ends the store as the death of its process would, for tests of what
// comes after it: what it has claimed stays claimed, and its lock is free.
// Whoever opens the file next, or waits for one of the claims, finds the owner
// dead.
func (s *Store) Desert() error {
	if s.owner == nil {
		return s.Close() // a reader claims nothing
	}
	lock := s.owner.lock
	s.owner = nil
	return errors.Join(s.Close(), lock.Unlock())
}
