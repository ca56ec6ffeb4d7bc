package fswatch

import "github.com/fsnotify/fsnotify"

// Limit lets the watch of each folder fail for which allow returns an error.
func (s *Source) Limit(allow func(dir string) error) {
	s.add = func(w *fsnotify.Watcher, dir string) error {
		if err := allow(dir); err != nil {
			return err
		}
		return w.Add(dir)
	}
}

// Opened has each watcher sent to a channel.
func (s *Source) Opened(to chan<- *fsnotify.Watcher) {
	open := s.open
	s.open = func() (*fsnotify.Watcher, error) {
		w, err := open()
		if err == nil {
			to <- w
		}
		return w, err
	}
}

// FailOpen lets the system have no watcher while it returns an error.
func (s *Source) FailOpen(fail func() error) {
	open := s.open
	s.open = func() (*fsnotify.Watcher, error) {
		if err := fail(); err != nil {
			return nil, err
		}
		return open()
	}
}
