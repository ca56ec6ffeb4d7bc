package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"piworkflows/store/sqlite"
)

// Paths are the places that one project uses; all absolute.
type Paths struct {
	// Project is the real path of the project directory.
	Project string
	// Store is the SQLite file, Runs the root of the run bundles.
	Store, Runs string
	// Spool is the folder of what running runs print, beside Runs; see
	// engine.Options. Empty keeps nothing of it.
	Spool string
}

// Places are the choices of a caller; an empty one takes its default.
type Places struct {
	// Project defaults to the current directory; it must exist.
	Project string
	// Store defaults to the project's file below PI_WORKFLOWS_CONTROLLER_DIR or
	// ~/.pi/agent/workflows/controllers.
	Store string
	// Runs defaults to PI_WORKFLOWS_RUNS_DIR or ~/.pi/agent/workflows/runs.
	Runs string
}

// Locate resolves places to paths. It creates nothing.
//
// Spec: Package and Pi integration (store path and scope).
func Locate(p Places) (Paths, error) {
	project, err := projectDir(p.Project)
	if err != nil {
		return Paths{}, err
	}
	store, err := storeFile(p.Store, project)
	if err != nil {
		return Paths{}, err
	}
	runs, err := runsDir(p.Runs)
	if err != nil {
		return Paths{}, err
	}
	return Paths{Project: project, Store: store, Runs: runs, Spool: spoolDir(runs)}, nil
}

// spoolDir is beside the bundles, because every folder among them counts as one.
// It goes with the folder of runs and is shared like that.
func spoolDir(runs string) string {
	if filepath.Base(runs) == "runs" {
		return filepath.Join(filepath.Dir(runs), "spool")
	}
	return runs + ".spool"
}

func projectDir(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	abs, err := absolute(dir)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &ProjectError{Dir: abs, Reason: "it does not exist"}
	}
	if err != nil {
		return "", fmt.Errorf("resolve the project directory %s: %w", abs, err)
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return "", &ProjectError{Dir: abs, Reason: "it is not a directory"}
	}
	return resolved, nil
}

func storeFile(store, project string) (string, error) {
	if strings.Contains(store, "://") {
		return "", &UnsupportedStoreError{Store: store}
	}
	if store != "" {
		return absolute(store)
	}
	root, err := sqlite.DefaultRoot()
	if err != nil {
		return "", err
	}
	return sqlite.Path(root, project)
}

func runsDir(runs string) (string, error) {
	if runs == "" {
		runs = os.Getenv("PI_WORKFLOWS_RUNS_DIR")
	}
	if runs != "" {
		return absolute(runs)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the runs directory: %w: set PI_WORKFLOWS_RUNS_DIR or give --runs", err)
	}
	return filepath.Join(home, ".pi", "agent", "workflows", "runs"), nil
}

func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s from the current directory: %w", path, err)
	}
	return abs, nil
}
