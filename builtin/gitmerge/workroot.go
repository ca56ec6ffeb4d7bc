package gitmerge

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// WorkRootError says that worktrees cannot be made in a folder.
type WorkRootError struct {
	Path string
	// Rule is what the folder breaks, and the next step.
	Rule string
}

func (e *WorkRootError) Error() string {
	return fmt.Sprintf("no worktrees can be made in %s: %s", e.Path, e.Rule)
}

// ErrorCode is the stable code of the error.
func (*WorkRootError) ErrorCode() string { return "unsafe_work_root" }

// defaultWorkRoot prefers the cache of the user to the folder for temporary
// files: nobody else can make it first, and nothing clears it during a check.
func defaultWorkRoot() string {
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "pi-workflows", "worktrees")
	}
	return filepath.Join(os.TempDir(), "pi-workflows-"+strconv.Itoa(os.Getuid()))
}

// openWorkRoot makes the folder if it is missing, and returns its real path. It
// refuses one that somebody else can write to: what lies there is run.
func openWorkRoot(path string) (string, error) {
	if path == "" {
		path = defaultWorkRoot()
	}
	if !filepath.IsAbs(path) {
		return "", &WorkRootError{Path: path, Rule: "the path is not absolute"}
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for worktrees: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("find the folder for worktrees: %w", err)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", fmt.Errorf("look at the folder for worktrees: %w", err)
	}
	if rule := shared(info); rule != "" {
		return "", &WorkRootError{Path: resolved, Rule: rule}
	}
	return resolved, nil
}
