package diskspace

import (
	"math"

	"golang.org/x/sys/windows"
)

func free(path string) (int64, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err //nolint:wrapcheck // Free says what was tried
	}
	var n uint64
	err = windows.GetDiskFreeSpaceEx(name, &n, nil, nil)
	return int64(min(n, math.MaxInt64)), err //nolint:wrapcheck // Free says what was tried
}
