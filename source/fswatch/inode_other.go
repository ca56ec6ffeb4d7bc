//go:build !unix

package fswatch

import "io/fs"

// inode is not known here: times and sizes have to do.
func inode(fs.FileInfo) uint64 { return 0 }
