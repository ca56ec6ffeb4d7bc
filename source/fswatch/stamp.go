package fswatch

import (
	"io/fs"
	"time"
)

// stamp is what is remembered of one path: if it is another one, the path has
// changed. That of a folder does not change with what is in it.
type stamp struct {
	mode  fs.FileMode
	inode uint64
	size  int64
	time  int64
	// fresh says that it was written so short before that a later write may have the
	// same time: another look takes it for changed.
	fresh bool
}

// coarsest is the resolution of the coarsest times of files in use.
const coarsest = 2 * time.Second

func stampOf(info fs.FileInfo, now time.Time) stamp {
	s := stamp{mode: info.Mode(), inode: inode(info)}
	if !info.IsDir() {
		s.size, s.time = info.Size(), info.ModTime().UnixNano()
		s.fresh = now.Sub(info.ModTime()).Abs() < coarsest
	}
	return s
}

// changedFrom reports whether a path changed between two looks.
func (s stamp) changedFrom(before stamp) bool {
	same := before
	same.fresh = s.fresh
	return before.fresh || same != s
}

// replaces reports whether it is another file or folder than before.
func (s stamp) replaces(before stamp) bool {
	return s.inode != before.inode || s.mode.Type() != before.mode.Type()
}
