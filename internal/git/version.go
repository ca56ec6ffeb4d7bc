package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// minimum is the first version with `merge-tree --write-tree`.
var minimum = version{2, 38}

// version is the part of Git's version that decides what it can do.
type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) less(w version) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

// parseVersion reads the answer of `git version`, for example
// "git version 2.39.5 (Apple Git-154)" or "git version 2.45.1.windows.1".
func parseVersion(answer string) (version, bool) {
	words := strings.Fields(answer)
	if len(words) < 3 {
		return version{}, false
	}
	parts := strings.SplitN(words[2], ".", 3)
	if len(parts) < 2 {
		return version{}, false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return version{major, minor}, err1 == nil && err2 == nil
}

// supported holds the programs that were found new enough: to ask each time
// would cost as much as the call that it is for.
var supported sync.Map

func (r *Repo) checkVersion(ctx context.Context) error {
	if _, known := supported.Load(r.program); known {
		return nil
	}
	answer, err := r.line(ctx, "version")
	if err != nil {
		return err
	}
	found, ok := parseVersion(answer)
	if !ok || found.less(minimum) {
		return &VersionError{Found: answer, Need: minimum.String()}
	}
	supported.Store(r.program, true)
	return nil
}
