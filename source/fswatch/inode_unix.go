//go:build unix

package fswatch

import (
	"io/fs"
	"syscall"
)

// inode tells a file from another one that took its name.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino) //nolint:unconvert // it is 32 bits wide on some systems
	}
	return 0
}
