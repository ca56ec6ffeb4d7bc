package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// RootEnv is the environment variable that names the root of the stores.
const RootEnv = "PI_WORKFLOWS_CONTROLLER_DIR"

// scopeDigits is the length of a scope, in hex digits.
const scopeDigits = 24

var scopePattern = regexp.MustCompile(`^[0-9a-f]{24}$`)

// DefaultRoot returns the folder under which every project has its store: the
// value of RootEnv, or ~/.pi/agent/workflows/controllers.
//
// Spec: Package and Pi integration.
func DefaultRoot() (string, error) {
	if root := os.Getenv(RootEnv); root != "" {
		return root, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the store: %w; set %s", err, RootEnv)
	}
	return filepath.Join(home, ".pi", "agent", "workflows", "controllers"), nil
}

// Scope returns the scope of a project: the first 24 hex digits of the SHA-256
// of the real path of its directory. A directory that does not exist has the
// scope of its absolute path.
//
// Spec: Package and Pi integration.
func Scope(projectDir string) (string, error) {
	absolute, err := filepath.Abs(projectDir)
	if err != nil {
		return "", fmt.Errorf("find project %s: %w", projectDir, err)
	}
	if resolved, err := filepath.EvalSymlinks(absolute); err == nil {
		absolute = resolved
	}
	sum := sha256.Sum256([]byte(absolute))
	return hex.EncodeToString(sum[:])[:scopeDigits], nil
}

// Path returns where the store of a project is: projects/<scope> under root.
func Path(root, projectDir string) (string, error) {
	scope, err := Scope(projectDir)
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "projects", scope, "controller.sqlite"), nil
}
