//go:build linux || darwin

package diskspace

import "syscall"

func free(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err //nolint:wrapcheck // Free says what was tried
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:gosec,unconvert,nolintlint // sizes differ between systems
}
