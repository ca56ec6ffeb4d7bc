//go:build !windows

package gitmerge

import (
	"io/fs"
	"os"
	"syscall"
)

// shared says how a folder can be changed by others; "" if it cannot.
func shared(info fs.FileInfo) (rule string) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return "it belongs to another user: choose another folder"
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "it is open to other users: chmod 700 it, or choose another folder"
	}
	return ""
}
